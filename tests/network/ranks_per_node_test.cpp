#include "network/ranks_per_node.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::network {
namespace {

std::vector<int> nodes_of(std::string_view list, int ranks) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(make_believe_node(list, rank).value_or(-1));
  return nodes;
}

TEST(RanksPerNode, AreDealtOutInTurn) {
  EXPECT_EQ(nodes_of("2,3,1", 6), (std::vector<int>{0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(nodes_of("2", 5), (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(nodes_of("1,2", 7), (std::vector<int>{0, 1, 1, 2, 3, 3, 4}));
}

TEST(RanksPerNode, AreOneNodeIfThereIsRoomForAll) {
  EXPECT_EQ(nodes_of("8", 3), (std::vector<int>{0, 0, 0}));
}

TEST(RanksPerNode, OfWhatIsNoListAreNone) {
  for (const char* list : {"", "0", "-1", "2,", ",2", "2;3", "2,x", "two", "2,0", "99999999999"})
    EXPECT_FALSE(make_believe_node(list, 0)) << list;
}

}  // namespace
}  // namespace tutti::network
