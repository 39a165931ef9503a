#include "memory/page_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti::memory {
namespace {

const void* at(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

std::vector<PageRanges::Range> all_of(const PageRanges& ranges) {
  std::vector<PageRanges::Range> all;
  PageRanges::Range range;
  for (std::uintptr_t from = 0; ranges.next(from, UINTPTR_MAX, range); from = range.end) all.push_back(range);
  return all;
}

TEST(PageRanges, NeighboursOfOneValueAreOneRangeAndOthersAreCut) {
  PageRanges ranges;
  EXPECT_FALSE(ranges.any());
  ranges.set(10, 20, 1);
  ranges.set(20, 30, 1);
  ranges.set(5, 8, 2);
  ranges.set(8, 10, 1);
  EXPECT_EQ(all_of(ranges), (std::vector<PageRanges::Range>{{5, 8, 2}, {8, 30, 1}}));
  ranges.set(12, 14, 3);
  EXPECT_EQ(all_of(ranges), (std::vector<PageRanges::Range>{{5, 8, 2}, {8, 12, 1}, {12, 14, 3}, {14, 30, 1}}));
  ranges.clear(6, 29);
  EXPECT_EQ(all_of(ranges), (std::vector<PageRanges::Range>{{5, 6, 2}, {29, 30, 1}}));
  ranges.clear(0, 100);
  EXPECT_FALSE(ranges.any());
}

TEST(PageRanges, ABufferThatReachesBeyondAllAddressesTouchesWhatLiesBehindItsBeginning) {
  PageRanges ranges;
  ranges.set(4096, 8192, 1);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 2048, std::size_t{PTRDIFF_MAX}}) {
    EXPECT_TRUE(ranges.touches(at(2048), bytes));
    EXPECT_FALSE(ranges.touches(at(8192), bytes));
  }
}

TEST(PageRanges, ABufferTouchesWhatOneOfItsBytesLiesIn) {
  PageRanges ranges;
  ranges.set(4096, 8192, 1);
  EXPECT_FALSE(ranges.touches(at(0), 4096));
  EXPECT_TRUE(ranges.touches(at(0), 4097));
  EXPECT_TRUE(ranges.touches(at(4096), 1));
  EXPECT_TRUE(ranges.touches(at(8191), 100));
  EXPECT_FALSE(ranges.touches(at(8192), 100));
}

TEST(PageRanges, EveryByteHasTheValueThatItWasGivenLast) {
  constexpr std::uintptr_t bytes = 200;
  std::mt19937 random(1);
  PageRanges ranges;
  std::vector<int> expected(bytes, -1);
  for (int round = 0; round < 20'000; ++round) {
    std::uintptr_t begin = random() % bytes, end = random() % bytes;
    if (begin > end) std::swap(begin, end);
    const int value = static_cast<int>(random() % 4) - 1;
    value < 0 ? ranges.clear(begin, end) : ranges.set(begin, end, value);
    for (std::uintptr_t i = begin; i < end; ++i) expected[i] = value;
    std::vector<int> found;
    ranges.for_each_piece(0, bytes, [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
      EXPECT_EQ(from, found.size());
      found.resize(to, range ? range->value : -1);
      return true;
    });
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST(PageRanges, ThereMayBeManyMoreThanFitAtFirst) {
  PageRanges ranges;
  constexpr std::uintptr_t count = 5000;
  for (std::uintptr_t i = 0; i < count; ++i) ranges.set((count - i) * 2, (count - i) * 2 + 1, 1);
  EXPECT_EQ(all_of(ranges).size(), count);
}

}  // namespace
}  // namespace tutti::memory
