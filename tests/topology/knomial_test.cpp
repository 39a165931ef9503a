#include "topology/knomial.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tutti::topology {
namespace {

class KnomialTree : public testing::TestWithParam<int> {};

TEST_P(KnomialTree, ChildrenAndParentsAgreeAndReachEveryRankOnce) {
  for (int ranks = 1; ranks < 70; ++ranks) {
    const Knomial tree(ranks, GetParam());
    std::vector<int> parent(static_cast<std::size_t>(ranks), -1);
    for (int rank = 0; rank < ranks; ++rank)
      tree.for_each_child(rank, [&](int child) {
        ASSERT_LT(child, ranks);
        EXPECT_EQ(parent[static_cast<std::size_t>(child)], -1);
        parent[static_cast<std::size_t>(child)] = rank;
      });
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(tree.parent(rank), parent[static_cast<std::size_t>(rank)]);
  }
}

TEST_P(KnomialTree, NoMoreThanKReadFromOneRankAtATimeAndTheLastAfterDepthSteps) {
  for (int ranks = 2; ranks < 70; ++ranks) {
    const Knomial tree(ranks, GetParam());
    // The step in which each rank reads: after its parent has, and after the one before it.
    std::vector<int> step(static_cast<std::size_t>(ranks), 0);
    for (int pass = 0; pass < ranks; ++pass)
      for (int rank = 1; rank < ranks; ++rank) {
        const int before = tree.predecessor(rank);
        const int after_parent = step[static_cast<std::size_t>(tree.parent(rank))] + 1;
        const int after_other = before < 0 ? 0 : step[static_cast<std::size_t>(before)] + 1;
        step[static_cast<std::size_t>(rank)] = std::max(after_parent, after_other);
        if (before >= 0) {
          EXPECT_EQ(tree.parent(before), tree.parent(rank));
        }
      }
    std::map<std::pair<int, int>, int> readers;
    for (int rank = 1; rank < ranks; ++rank) {
      EXPECT_LE((++readers[{tree.parent(rank), step[static_cast<std::size_t>(rank)]}]), GetParam());
      EXPECT_LE(step[static_cast<std::size_t>(rank)], tree.depth());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, KnomialTree, testing::Values(1, 2, 3, 4, 7, 100));

TEST(Knomial, IsTheBinomialTreeWithOneReaderAndFlatWithAll) {
  const Knomial binomial(8, 1);
  std::vector<int> children;
  binomial.for_each_child(0, [&](int child) { children.push_back(child); });
  EXPECT_EQ(children, (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(binomial.depth(), 3);
  EXPECT_EQ(binomial.predecessor(2), 4);
  EXPECT_EQ(binomial.predecessor(6), -1);
  const Knomial flat(8, 8);
  EXPECT_EQ(flat.depth(), 1);
  EXPECT_EQ(flat.parent(7), 0);
}

}  // namespace
}  // namespace tutti::topology
