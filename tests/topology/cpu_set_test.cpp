#include "topology/cpu_set.h"

#include <gtest/gtest.h>

namespace tutti::topology {
namespace {

TEST(CpuSet, HoldsWhatWasInsertedAcrossWordBoundaries) {
  const CpuSet set{200, 0, 63, 64, 64};
  EXPECT_EQ(set.members(), (std::vector<int>{0, 63, 64, 200}));
  EXPECT_EQ(set.count(), 4);
  EXPECT_EQ(set.first(), 0);
  EXPECT_TRUE(set.contains(64));
  EXPECT_FALSE(set.contains(65));
  EXPECT_FALSE(set.contains(100000));
  EXPECT_FALSE(set.contains(-1));
}

TEST(CpuSet, EmptySetHasNoMembersAndIgnoresNegativeIndices) {
  CpuSet set;
  set.insert(-3);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.count(), 0);
  EXPECT_EQ(set.first(), -1);
  EXPECT_TRUE(set.members().empty());
}

TEST(CpuSet, WordsRoundTripAndTrailingZeroesDoNotMatter) {
  const CpuSet set{1, 130};
  auto words = set.words();
  words.resize(16);
  EXPECT_EQ(CpuSet::from_words(words), set);
  EXPECT_TRUE(CpuSet::from_words({0, 0}).empty());
}

TEST(CpuSet, SubsetAndIntersectionCompareSetsOfDifferentLength) {
  const CpuSet low{1, 2};
  const CpuSet wide{1, 2, 300};
  const CpuSet far{300};
  EXPECT_TRUE(low.is_subset_of(wide));
  EXPECT_FALSE(wide.is_subset_of(low));
  EXPECT_TRUE(CpuSet{}.is_subset_of(low));
  EXPECT_TRUE(low.intersects(wide));
  EXPECT_FALSE(low.intersects(far));
  EXPECT_FALSE(CpuSet{}.intersects(far));
}

TEST(CpuSet, UnionHoldsBoth) {
  CpuSet set{1};
  set.insert(CpuSet{70});
  EXPECT_EQ(set, (CpuSet{1, 70}));
}

TEST(CpuSet, AffinityOfThisThreadIsNotEmpty) {
  EXPECT_GE(affinity_of_this_thread().count(), 1);
}

}  // namespace
}  // namespace tutti::topology
