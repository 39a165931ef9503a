#include "topology/machine_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "topology/machines.h"
#include "topology/mapping.h"

namespace tutti::topology {
namespace {

using testing::bound_to;
using testing::machine_of;
using testing::sequence;
using testing::shuffled;

int domain_of(const Placement& placement, int rank, LevelKind kind) {
  return placement.ranks[static_cast<std::size_t>(rank)].domain[index_of(kind)];
}

/// How often the domain changes from one rank to the next.
int changes(const Placement& placement, const std::vector<int>& ranks, LevelKind kind) {
  int count = 0;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (domain_of(placement, ranks[i], kind) != domain_of(placement, ranks[i - 1], kind)) ++count;
  return count;
}

TEST(MachineOrder, IsThatOfTheRanksWhereTheyFollowTheMachine) {
  const Machine machine = machine_of("package:2 numa:4 l3:2 core:4 pu:1");
  const MachineOrder order = machine_order(place_by_affinity(machine, map_ranks(machine, 64, Mapping::core)), 0);
  EXPECT_EQ(order.ranks, sequence(64));
  EXPECT_EQ(order.places, sequence(64));
}

TEST(MachineOrder, LeavesEachDomainOnceWhateverTheNumbersAre) {
  const Machine machine = machine_of("package:2 numa:4 l3:2 core:4 pu:1");
  for (unsigned seed = 0; seed < 5; ++seed)
    for (const int root : {0, 17, 63}) {
      const Placement placement = place_by_affinity(machine, bound_to(shuffled(64, seed)));
      const MachineOrder order = machine_order(placement, root);
      EXPECT_EQ(order.rank(0), root);
      EXPECT_EQ(changes(placement, order.ranks, LevelKind::socket), 1);
      EXPECT_EQ(changes(placement, order.ranks, LevelKind::numa), 7);
      EXPECT_EQ(changes(placement, order.ranks, LevelKind::l3), 15);
      for (int place = 0; place < 64; ++place) EXPECT_EQ(order.place(order.rank(place)), place);
      EXPECT_EQ(order.rank_after(63, 1), root);
      EXPECT_EQ(order.rank_after(0, -1), order.rank(63));
    }
}

TEST(MachineOrder, OfRanksThatAreBoundNowhereIsTheirOwn) {
  const Machine machine = machine_of("package:2 core:4 pu:1");
  const MachineOrder order = machine_order(place_by_affinity(machine, map_ranks(machine, 5, Mapping::unbound)), 0);
  EXPECT_EQ(order.ranks, sequence(5));
}

/// The ranks below each participant of a hierarchy in rank order: each group joins what follows one another.
TEST(HierarchyInRankOrder, IsOfConsecutiveRanksOfOneDomain) {
  const Machine machine = machine_of("package:2 numa:4 core:8 pu:1");
  for (unsigned seed = 0; seed < 5; ++seed)
    for (const int widest : {0, 5}) {
      const Placement placement = place_by_affinity(machine, bound_to(shuffled(64, seed)));
      const int root = static_cast<int>(seed) * 13;
      const Hierarchy hierarchy =
          build_in_rank_order(placement, Levels{{LevelKind::numa, LevelKind::socket}, widest}, root);
      std::vector<std::vector<int>> reached(64);
      for (int rank = 0; rank < 64; ++rank) reached[static_cast<std::size_t>(rank)] = {rank};
      for (const Level& level : hierarchy.levels)
        for (const Group& group : level.groups) {
          ASSERT_TRUE(std::is_sorted(group.members.begin(), group.members.end()));
          std::vector<int> all;
          for (const int member : group.members) {
            const auto& below = reached[static_cast<std::size_t>(member)];
            all.insert(all.end(), below.begin(), below.end());
            if (level.kind) {
              EXPECT_EQ(domain_of(placement, member, *level.kind), domain_of(placement, group.leader, *level.kind));
            }
          }
          for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i], all[i - 1] + 1);
          reached[static_cast<std::size_t>(group.leader)] = all;
        }
      EXPECT_EQ(reached[static_cast<std::size_t>(root)], sequence(64));
    }
}

TEST(HierarchyInRankOrder, IsTheUsualOneWhereRanksFollowTheMachine) {
  const Machine machine = machine_of("package:2 numa:4 core:8 pu:1");
  const Placement placement = place_by_affinity(machine, map_ranks(machine, 64, Mapping::core));
  const Levels levels = choose_levels({true, {}, 0}, placement);
  for (const int root : {0, 10, 63}) {
    const Hierarchy usual = build(placement, levels, root), in_order = build_in_rank_order(placement, levels, root);
    ASSERT_EQ(usual.levels.size(), in_order.levels.size());
    for (std::size_t i = 0; i < usual.levels.size(); ++i) EXPECT_EQ(usual.levels[i].groups, in_order.levels[i].groups);
  }
}

}  // namespace
}  // namespace tutti::topology
