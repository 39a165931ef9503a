#include "topology/rank_blocks.h"

#include "topology/machines.h"

namespace tutti::topology {
namespace {

using testing::bound_to;
using testing::machine_of;
using testing::round_robin;
using testing::sequence;

const std::vector<LevelKind> numa_socket{LevelKind::numa, LevelKind::socket};

RankBlocks blocks_of(const std::vector<int>& units, const std::vector<LevelKind>& kinds) {
  const Machine machine = machine_of(testing::two_socket_machine);
  return rank_blocks(build(place_by_affinity(machine, bound_to(units)), kinds, 0));
}

TEST(RankBlocks, FollowTheOutermostGroupsOfConsecutiveRanks) {
  EXPECT_EQ(blocks_of(sequence(64), numa_socket).begin, (std::vector<int>{0, 32, 64}));
  EXPECT_EQ(blocks_of(sequence(64), {LevelKind::numa}).begin, (std::vector<int>{0, 8, 16, 24, 32, 40, 48, 56, 64}));
  // One rank alone in its domain is a block of its own.
  EXPECT_EQ(blocks_of(sequence(33), numa_socket).begin, (std::vector<int>{0, 32, 33}));
  // The order of the domains does not matter.
  EXPECT_EQ(blocks_of({40, 41, 42, 0, 1}, numa_socket).begin, (std::vector<int>{0, 3, 5}));
}

TEST(RankBlocks, AreOfTheSquareRootWhereGroupsInterleaveOrThereIsOne) {
  EXPECT_EQ(blocks_of(round_robin(2, 8), numa_socket).begin, (std::vector<int>{0, 4, 8, 12, 16}));
  EXPECT_EQ(blocks_of(sequence(17), {}).begin, (std::vector<int>{0, 5, 10, 15, 17}));
  EXPECT_EQ(blocks_of(sequence(2), {}).begin, (std::vector<int>{0, 2}));
}

TEST(RankBlocks, EveryRankIsInTheBlockThatCoversIt) {
  for (int ranks = 1; ranks <= 64; ++ranks)
    for (const auto& kinds : {std::vector<LevelKind>{}, numa_socket}) {
      const RankBlocks blocks = blocks_of(sequence(ranks), kinds);
      ASSERT_EQ(blocks.of.size(), static_cast<std::size_t>(ranks));
      ASSERT_EQ(blocks.begin.front(), 0);
      ASSERT_EQ(blocks.begin.back(), ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const int block = blocks.of[static_cast<std::size_t>(rank)];
        ASSERT_GE(rank, blocks.first(block));
        ASSERT_LE(rank, blocks.last(block));
      }
    }
}

}  // namespace
}  // namespace tutti::topology
