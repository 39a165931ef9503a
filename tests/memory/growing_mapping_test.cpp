#include "memory/growing_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/sanitizer.h"
#include "readable.h"
#include "system.h"

namespace tutti::memory {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;
constexpr std::size_t gibibyte = 1024 * mebibyte;

/// A file of so many bytes, of which the mapping does without the descriptor.
std::unique_ptr<GrowingMapping> map_file(std::size_t bytes, std::size_t growth) {
  const int descriptor = memfd_create("test", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(descriptor, static_cast<off_t>(bytes)), 0);
  auto mapping = GrowingMapping::create(descriptor, {bytes, growth, false, 0, nullptr, false});
  close(descriptor);
  EXPECT_TRUE(mapping);
  return mapping;
}

TEST(GrowingMapping, LiesWhereThoseThatAreApartDoNotGrow) {
  if (sanitized) GTEST_SKIP() << "a sanitizer lays out the address space";
  const int descriptor = memfd_create("test", MFD_CLOEXEC);
  constexpr std::size_t bytes = 64 * gibibyte;
  ASSERT_EQ(ftruncate(descriptor, static_cast<off_t>(bytes)), 0);
  const auto apart = GrowingMapping::create(descriptor, {bytes, mebibyte, false, 0, nullptr, true});
  const auto other = GrowingMapping::create(descriptor, {bytes, mebibyte, false, 0, nullptr, false});
  close(descriptor);
  ASSERT_TRUE(apart && other);
  constexpr std::size_t tebibyte = 1024 * gibibyte;
  EXPECT_GE(reinterpret_cast<std::uintptr_t>(other->base()),
            reinterpret_cast<std::uintptr_t>(apart->base()) + tebibyte);
}

TEST(GrowingMapping, TakesAddressSpaceAsItIsUsedAndGivesItBack) {
  if (!test::proc_tells_of_the_program()) GTEST_SKIP() << "/proc tells of what emulates the program";
  if (sanitized) GTEST_SKIP() << "a sanitizer lays out the address space";
  const std::size_t before = address_space();
  const auto mapping = map_file(64 * gibibyte, mebibyte);
  EXPECT_LE(address_space() - before, 2 * mebibyte);
  ASSERT_TRUE(mapping->open(gibibyte, gibibyte + 1));
  EXPECT_GE(mapping->extent(), gibibyte + 8 * kibibyte);
  EXPECT_LE(address_space() - before, gibibyte + 4 * mebibyte);
  mapping->base()[gibibyte] = std::byte{5};
  mapping->close(gibibyte, gibibyte + 4 * kibibyte);
  mapping->give_back(10 * mebibyte);
  EXPECT_LE(mapping->extent(), 12 * mebibyte);
  EXPECT_LE(address_space() - before, 14 * mebibyte);
  ASSERT_TRUE(mapping->open(gibibyte, gibibyte + 1));
  EXPECT_EQ(mapping->base()[gibibyte], std::byte{5}) << "the file keeps what it held";
}

TEST(GrowingMapping, CanBeReadOnlyWhereItIsOpen) {
  const auto mapping = map_file(gibibyte, mebibyte);
  EXPECT_EQ(readable_bytes(mapping->base(), gibibyte), 0u);
  ASSERT_TRUE(mapping->open(5 * mebibyte + 1, 6 * mebibyte));
  EXPECT_EQ(readable_bytes(mapping->base(), gibibyte), mebibyte);
  ASSERT_TRUE(mapping->open(300 * mebibyte, 301 * mebibyte + 1));
  EXPECT_EQ(readable_bytes(mapping->base(), gibibyte), 2 * mebibyte + 4 * kibibyte);
  mapping->close(5 * mebibyte, 300 * mebibyte + 1);
  EXPECT_EQ(readable_bytes(mapping->base(), gibibyte), mebibyte + 4 * kibibyte) << "a page in part stays open";
}

TEST(GrowingMapping, ReachesToTheLastByteOfItsFile) {
  for (const std::size_t bytes : {4 * kibibyte, 100 * kibibyte, mebibyte, 32 * mebibyte, 96 * mebibyte}) {
    const auto mapping = map_file(bytes, mebibyte);
    ASSERT_TRUE(mapping->open(bytes - 1, bytes));
    mapping->base()[bytes - 1] = std::byte{1};
    EXPECT_FALSE(mapping->open(bytes, bytes + 1));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping->base()) % GrowingMapping::alignment, 0u);
  }
}

TEST(GrowingMapping, StopsAtWhatSomebodyElseHasMapped) {
  if (sanitized) GTEST_SKIP() << "a sanitizer lays out the address space";
  const auto mapping = map_file(gibibyte, mebibyte);
  auto* const in_the_way = static_cast<char*>(mmap(mapping->base() + 100 * mebibyte, 4096, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
  ASSERT_EQ(static_cast<void*>(in_the_way), mapping->base() + 100 * mebibyte);
  std::strcpy(in_the_way, "the program's");
  EXPECT_FALSE(mapping->open(0, 150 * mebibyte));
  EXPECT_TRUE(mapping->open(0, 90 * mebibyte));
  EXPECT_LE(mapping->extent(), 100 * mebibyte);
  mapping->give_back(0);
  EXPECT_STREQ(in_the_way, "the program's");
  munmap(in_the_way, 4096);
  EXPECT_TRUE(mapping->open(0, 150 * mebibyte));
}

TEST(GrowingMapping, ALimitRefusesAndTheRestStaysUsable) {
  if (!test::address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS does not hold here";
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  const auto mapping = map_file(64 * gibibyte, mebibyte);
  ASSERT_TRUE(mapping->open(0, mebibyte));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit less = before;
  less.rlim_cur = address_space() + 100 * mebibyte;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  const bool much = mapping->open(mebibyte, gibibyte);
  const bool little = mapping->open(mebibyte, 50 * mebibyte);
  const auto another = GrowingMapping::create(-1, {gibibyte, mebibyte, false, 0, nullptr, false});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_FALSE(much);
  EXPECT_TRUE(little);
  EXPECT_FALSE(another) << "without a file";
  std::memset(mapping->base(), 1, 50 * mebibyte);
  EXPECT_TRUE(mapping->open(mebibyte, gibibyte));
}

TEST(GrowingMapping, ManyExistSideBySide) {
  std::vector<std::unique_ptr<GrowingMapping>> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(map_file(gibibyte, 64 * kibibyte));
    if (i % 3 == 0) all[static_cast<std::size_t>(i / 2)] = map_file(gibibyte, mebibyte);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]->open(800 * mebibyte, 800 * mebibyte + 1)) << i;
    all[i]->base()[800 * mebibyte] = static_cast<std::byte>(i);
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->base()[800 * mebibyte], static_cast<std::byte>(i));
}

TEST(GrowingMapping, WhatGrewIsNotInheritedEither) {
  if (!test::children_can_lack_pages()) GTEST_SKIP() << "MADV_DONTFORK is not heeded here";
  if (sanitized) GTEST_SKIP() << "a sanitizer may map something of its own where the child has a hole";
  const auto mapping = map_file(gibibyte, mebibyte);
  for (const std::size_t at : {std::size_t{0}, 2 * mebibyte, 500 * mebibyte}) ASSERT_TRUE(mapping->open(at, at + 1));
  const pid_t child = fork();
  if (child == 0) _exit(mappings_within(mapping->base(), gibibyte, false).empty() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::memory
