#include "memory/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/sanitizer.h"
#include "memory/pages.h"
#include "memory/region.h"
#include "memory/stream.h"
#include "readable.h"
#include "system.h"

namespace tutti::memory {
namespace {

TEST(Arena, RefusesSizesThatWrapWhenTheyAreRounded) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4094, SIZE_MAX - 4095, std::size_t{PTRDIFF_MAX}}) {
    EXPECT_FALSE(arena->allocate(bytes));
    EXPECT_FALSE(arena->reserve(bytes));
  }
}

TEST(Arena, WhatIsAllocatedIsZeroAlsoTheSecondTime) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  for (int round = 0; round < 3; ++round) {
    const auto offset = arena->allocate(10000);
    ASSERT_TRUE(offset);
    for (std::size_t i = 0; i < 10000; ++i) ASSERT_EQ(arena->base()[*offset + i], std::byte{0});
    std::memset(arena->base() + *offset, 1, 10000);
    arena->release(*offset);
  }
}

TEST(Arena, PagesThatAreKeptStayWhereTheyAreAndAreZeroAllTheSame) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  const auto blocks = [&] {
    struct stat file {};
    EXPECT_EQ(fstat(arena->descriptor(), &file), 0);
    return file.st_blocks;
  };
  arena->keep_pages();
  const auto first = arena->allocate(100'000);
  ASSERT_TRUE(first);
  std::memset(arena->base() + *first, 1, 100'000);
  const auto before = blocks();
  EXPECT_GE(before * 512, 100'000);
  arena->release(*first);
  EXPECT_EQ(blocks(), before);
  const auto again = arena->allocate(100'000);
  ASSERT_EQ(again, first);
  for (std::size_t i = 0; i < 100'000; ++i) ASSERT_EQ(arena->base()[*again + i], std::byte{0});
}

TEST(Arena, BeyondTheLimitOfFilesIsRefusedAndNoSignal) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit less = before;
  less.rlim_cur = std::size_t{1} << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  std::string reason;
  const auto refused = Arena::create(std::size_t{2} << 20, reason);
  const auto fits = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(refused);
  EXPECT_NE(reason.find("ulimit -f"), std::string::npos) << reason;
  EXPECT_TRUE(fits);
}

TEST(Arena, AFileThatTookItsNumberIsLeftAlone) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  const auto offset = arena->allocate(8192);
  ASSERT_TRUE(offset);
  arena->base()[*offset] = std::byte{1};
  const int file = memfd_create("of the program", 0);
  const int kept = dup(arena->descriptor());
  ASSERT_EQ(pwrite(file, "precious", 8, static_cast<off_t>(*offset)), 8);
  ASSERT_EQ(dup2(file, arena->descriptor()), arena->descriptor());
  arena->release(*offset);
  char text[8] = {};
  EXPECT_EQ(pread(file, text, 8, static_cast<off_t>(*offset)), 8);
  EXPECT_EQ(std::string(text, 8), "precious");
  ASSERT_EQ(arena->allocate(8192), offset);
  EXPECT_EQ(arena->base()[*offset], std::byte{0});
  dup2(kept, arena->descriptor());
  close(kept);
  close(file);
}

TEST(Arena, FreedNeighboursJoinSoThatTheWholeFitsAgain) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{64} << 10, reason);
  ASSERT_TRUE(arena) << reason;
  const auto a = arena->allocate(16 << 10), b = arena->allocate(16 << 10), c = arena->allocate(32 << 10);
  ASSERT_TRUE(a && b && c);
  EXPECT_FALSE(arena->allocate(1));
  arena->release(*a);
  arena->release(*c);
  EXPECT_FALSE(arena->allocate(48 << 10));
  arena->release(*b);
  EXPECT_TRUE(arena->allocate(64 << 10));
}

TEST(Arena, TakesAndShowsOnlyWhatIsAllocated) {
  std::string reason;
  const std::size_t before = address_space();
  const auto arena = Arena::create(std::size_t{64} << 30, reason);
  ASSERT_TRUE(arena) << reason;
  if (!sanitized && test::proc_tells_of_the_program()) {
    EXPECT_LE(address_space() - before, std::size_t{4} << 20);
  }
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 0u);
  const auto small = arena->allocate(10000), large = arena->allocate(std::size_t{100} << 20);
  ASSERT_TRUE(small && large);
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 3 * 4096 + (std::size_t{100} << 20));
  std::memset(arena->base() + *large, 1, std::size_t{100} << 20);
  arena->release(*large);
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 3u * 4096);
  arena->base()[*small] = std::byte{1};
}

TEST(Arena, WhatIsReservedTakesNothingBeforeItIsOpened) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 30, reason);
  ASSERT_TRUE(arena) << reason;
  std::vector<std::size_t> reserved;
  for (int i = 0; i < 100; ++i) reserved.push_back(*arena->reserve(150'000));
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 0u);
  ASSERT_TRUE(arena->open(reserved[5]));
  ASSERT_TRUE(arena->open(reserved[5]));
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 151'552u);
  for (const std::size_t offset : reserved) arena->release(offset);
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 0u);
  EXPECT_TRUE(arena->allocate(std::size_t{1} << 30));
}

TEST(Arena, ALittleOfWhatIsTidyIsKeptForTheNextOfItsSize) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 30, reason);
  ASSERT_TRUE(arena) << reason;
  std::vector<std::size_t> parts;
  for (int i = 0; i < 100; ++i) {
    parts.push_back(*arena->reserve(150'000));
    ASSERT_TRUE(arena->open(parts.back()));
    arena->base()[parts.back()] = std::byte{1};
  }
  for (const std::size_t offset : parts) arena->release(offset, Arena::Contents::tidy);
  EXPECT_LE(readable_bytes(arena->base(), arena->capacity()), std::size_t{1} << 20);
  // As it was, and the rest zero; what is allocated is zero whatever was kept.
  const auto zero = arena->allocate(150'000);
  EXPECT_EQ(arena->base()[*zero], std::byte{0});
  int kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto again = arena->reserve(150'000);
    ASSERT_TRUE(again && arena->open(*again));
    kept += arena->base()[*again] == std::byte{1} ? 1 : 0;
  }
  EXPECT_GE(kept, 2);
  EXPECT_LE(kept, 6);
}

TEST(Arena, SomeOfWhatIsStaleIsKeptForWhoWipesNothing) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 30, reason);
  ASSERT_TRUE(arena) << reason;
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<std::size_t> parts;
  for (int i = 0; i < 100; ++i) {
    parts.push_back(*arena->allocate_used(bytes));
    arena->base()[parts.back()] = std::byte{1};
  }
  for (const std::size_t offset : parts) arena->release(offset, Arena::Contents::used);
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 6 * bytes);
  // Nobody else gets it.
  const auto zero = arena->allocate(bytes), reserved = arena->reserve(bytes);
  ASSERT_TRUE(zero && reserved && arena->open(*reserved));
  EXPECT_EQ(arena->base()[*zero], std::byte{0});
  EXPECT_EQ(arena->base()[*reserved], std::byte{0});
  int kept = 0;
  for (int i = 0; i < 100; ++i) kept += arena->base()[*arena->allocate_used(bytes)] == std::byte{1} ? 1 : 0;
  EXPECT_EQ(kept, 6);
}

/// A message leaves three parts, one of them long, now before the next is made and now after.
TEST(Arena, AMessageMadeBeforeTheLastIsFreedLosesNothingThatIsKept) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{16} << 20, reason);
  ASSERT_NE(arena, nullptr) << reason;
  int unwritten = 0;
  const auto make = [&] {
    std::array<std::size_t, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i] = *arena->allocate_used(i == 1 ? std::size_t{1} << 20 : page_bytes());
      unwritten += std::exchange(arena->base()[parts[i]], std::byte{1}) == std::byte{0} ? 1 : 0;
    }
    return parts;
  };
  const auto free = [&](const std::array<std::size_t, 3>& parts) {
    for (const std::size_t offset : parts) arena->release(offset, Arena::Contents::used);
  };
  auto message = make();
  for (int i = 0; i < 10; ++i) {
    const auto early = make();
    free(message);
    free(early);
    message = make();
  }
  EXPECT_EQ(unwritten, 6);
}

TEST(Arena, WhatIsKeptIsNotMissing) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  for (const auto contents : {Arena::Contents::tidy, Arena::Contents::used, Arena::Contents::tidy}) {
    const auto half = arena->reserve(std::size_t{512} << 10);
    ASSERT_TRUE(half && arena->open(*half));
    arena->base()[*half] = std::byte{1};
    arena->release(*half, contents);
    const auto all = arena->allocate(std::size_t{1} << 20);
    ASSERT_TRUE(all);
    EXPECT_EQ(arena->base()[*half], std::byte{0});
    arena->release(*all);
  }
}

TEST(StreamCopy, CopiesEverySizeAtEveryAlignmentAndNothingElse) {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
                            std::size_t{127}, std::size_t{200}, std::size_t{5000}})
    for (std::size_t from = 0; from < 5; ++from)
      for (std::size_t to = 0; to < 70; to += 7) {
        std::vector<char> source(bytes + from + 1), target(bytes + to + 2, 'x');
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 31);
        stream_copy(target.data() + to + 1, source.data() + from, bytes);
        ASSERT_EQ(std::memcmp(target.data() + to + 1, source.data() + from, bytes), 0);
        ASSERT_EQ(target[to], 'x');
        ASSERT_EQ(target.back(), to + 1 + bytes == target.size() ? target.back() : 'x');
      }
}

TEST(Region, BitsCarryKindAndAddress) {
  const Region region(Kind::window, 0x7fff12345678);
  const Region copy = Region::from_bits(region.bits());
  EXPECT_EQ(copy.kind(), Kind::window);
  EXPECT_EQ(copy.offset(), 0x7fff12345678u);
  EXPECT_TRUE(copy.loads_and_stores());
  EXPECT_FALSE(Region(Kind::cma, 1).loads_and_stores());
  EXPECT_FALSE(Region().loads_and_stores());
}

TEST(Region, CopiesByTheKernelReachThisProcessToo) {
  if (!test::kernel_copies()) GTEST_SKIP() << "no process_vm_readv here";
  std::vector<char> there(100000, 'a'), here(100000, 'b');
  Peer peer;
  peer.process = getpid();
  const Region region(Kind::cma, reinterpret_cast<std::uintptr_t>(there.data()));
  peer.copy_from(region, 10, here.data(), 1000);
  EXPECT_EQ(here[999], 'a');
  EXPECT_EQ(here[1000], 'b');
  peer.copy_to(region, 0, here.data() + 1000, 5);
  EXPECT_EQ(there[4], 'b');
  EXPECT_THROW(peer.copy_from(Region(Kind::cma, 16), 0, here.data(), 8), std::runtime_error);
}

}  // namespace
}  // namespace tutti::memory
