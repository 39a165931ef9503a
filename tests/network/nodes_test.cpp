#include "network/nodes.h"

#include <gtest/gtest.h>

namespace tutti::network {
namespace {

std::vector<int> ranks_of(const Nodes& nodes, int node) {
  return {nodes.ranks_of(node).begin(), nodes.ranks_of(node).end()};
}

TEST(Nodes, AreNumberedByTheirLowestRanks) {
  const Nodes nodes(std::vector<int>{7, 7, 3, 9, 9, 9});
  EXPECT_EQ(nodes.count(), 3);
  EXPECT_EQ(nodes.ranks(), 6);
  EXPECT_EQ(ranks_of(nodes, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(ranks_of(nodes, 1), (std::vector<int>{2}));
  EXPECT_EQ(ranks_of(nodes, 2), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(nodes.most_places(), 3);
  EXPECT_TRUE(nodes.in_order());
  EXPECT_EQ(nodes.node_of(4), 2);
  EXPECT_EQ(nodes.place_of(4), 1);
  EXPECT_EQ(nodes.rank_at(2, 1), 4);
}

TEST(Nodes, HaveRunsOfRanksThatFollowEachOther) {
  const Nodes nodes(std::vector<int>{0, 1, 1, 0, 0, 2});
  EXPECT_FALSE(nodes.in_order());
  EXPECT_EQ(nodes.runs_of(0), 2);
  EXPECT_EQ(nodes.runs_of(1), 1);
  EXPECT_EQ(nodes.runs_of(2), 1);
  ASSERT_EQ(nodes.runs().size(), 4u);
  EXPECT_EQ(nodes.runs()[2].node, 0);
  EXPECT_EQ(nodes.runs()[2].first, 3);
  EXPECT_EQ(nodes.runs()[2].count, 2);
  EXPECT_EQ(ranks_of(nodes, 0), (std::vector<int>{0, 3, 4}));
}

}  // namespace
}  // namespace tutti::network
