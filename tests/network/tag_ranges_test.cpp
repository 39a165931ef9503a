#include "network/tag_ranges.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace tutti::network {
namespace {

TEST(TagRanges, AreAsManyAsTheTagsHaveRoomFor) {
  // The fewest tags that MPI allows, and the most.
  TagRanges few(32767);
  for (int i = 0; i < 512; ++i) EXPECT_EQ(few.take(), i * TagRanges::tags);
  EXPECT_EQ(few.take(), std::nullopt);
  TagRanges odd(2 * TagRanges::tags);
  EXPECT_TRUE(odd.take() && odd.take());
  EXPECT_EQ(odd.take(), std::nullopt);
  TagRanges many(2147483647);
  for (int i = 0; i < 100000; ++i) EXPECT_EQ(many.take(), i * TagRanges::tags);
}

TEST(TagRanges, TakesAgainWhatWasGivenBackLongestAgo) {
  TagRanges ranges(4 * TagRanges::tags - 1);
  std::vector<int> all;
  while (const auto first = ranges.take()) all.push_back(*first);
  ASSERT_EQ(all.size(), 4u);
  ranges.give_back(all[2]);
  ranges.give_back(all[0]);
  EXPECT_EQ(ranges.take(), all[2]);
  ranges.give_back(all[3]);
  EXPECT_EQ(ranges.take(), all[0]);
  EXPECT_EQ(ranges.take(), all[3]);
  EXPECT_EQ(ranges.take(), std::nullopt);
}

TEST(TagRanges, NoTwoThreadsHaveTheSame) {
  TagRanges ranges(100 * TagRanges::tags - 1);
  std::vector<std::vector<int>> taken(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : taken)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          const auto first = ranges.take();
          if (!first) break;
          if (i % 3 == 0)
            mine.push_back(*first);
          else
            ranges.give_back(*first);
        }
      });
  }
  std::set<int> different;
  std::size_t count = 0;
  for (const auto& mine : taken) {
    different.insert(mine.begin(), mine.end());
    count += mine.size();
  }
  EXPECT_EQ(different.size(), count);
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace tutti::network
