#include "memory/devices/host_pages.h"

#include <gtest/gtest.h>

namespace tutti::memory {
namespace {

const void* at(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

TEST(HostPages, HoldWhatWasAddedUntilSomethingIsUnmapped) {
  static HostPages pages;
  EXPECT_FALSE(pages.holds(at(0x7f0000001000), 0));
  pages.add(at(0x7f0000001010), 0);
  EXPECT_TRUE(pages.holds(at(0x7f0000001fff), 0));
  EXPECT_FALSE(pages.holds(at(0x7f0000002000), 0));
  EXPECT_FALSE(pages.holds(at(0x7f0000001010), 1));
}

TEST(HostPages, HoldNothingOfACountWithTheSameLowBits) {
  for (const std::uint64_t between : {std::uint64_t{0}, std::uint64_t{1} << 18}) {
    HostPages pages;
    const std::uint64_t first = 5, again = first + (std::uint64_t{1} << 19);
    pages.add(at(0x5000), first);
    // Another page of whose place nothing is known.
    if (between) pages.add(at(0x7f0000009000), first + between);
    EXPECT_FALSE(pages.holds(at(0x5000), again));
    pages.add(at(0x7f0000009000), again);
    EXPECT_FALSE(pages.holds(at(0x5000), again));
    EXPECT_TRUE(pages.holds(at(0x7f0000009000), again));
  }
}

TEST(HostPages, TellPagesApartThatShareAPlace) {
  static HostPages pages;
  for (std::uintptr_t page = 1; page <= 5000; ++page) {
    pages.add(at(page << 12), 3);
    EXPECT_TRUE(pages.holds(at(page << 12), 3));
    EXPECT_FALSE(pages.holds(at((page + 5000) << 12), 3));
  }
}

}  // namespace
}  // namespace tutti::memory
