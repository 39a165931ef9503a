#include "topology/tree.h"

#include <set>

#include "topology/machines.h"

namespace tutti::topology {
namespace {

using testing::bound_to;
using testing::machine_of;
using testing::round_robin;
using testing::sequence;
using testing::shuffled;

const std::vector<LevelKind> numa_socket{LevelKind::numa, LevelKind::socket};

std::vector<RankPlan> all_plans(const Hierarchy& hierarchy) {
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < hierarchy.rank_count; ++rank) plans.push_back(plan(hierarchy, rank));
  return plans;
}

/// The plans of all ranks must fit together: what one calls its parent calls it a child, at the same level,
/// and every way up ends at the root.
void expect_consistent(const Hierarchy& hierarchy) {
  const auto plans = all_plans(hierarchy);
  int edges = 0;
  for (const RankPlan& mine : plans) {
    edges += mine.child_count;
    ASSERT_EQ(mine.children.size(), hierarchy.levels.size());
    for (std::size_t level = 0; level < mine.children.size(); ++level)
      for (const int child : mine.children[level]) {
        const RankPlan& theirs = plans[static_cast<std::size_t>(child)];
        EXPECT_EQ(theirs.parent, mine.rank);
        EXPECT_EQ(theirs.parent_level, static_cast<int>(level));
      }
    ASSERT_EQ(static_cast<int>(mine.branches.size()), mine.child_count);
    std::size_t reached = 1;
    for (const Branch& branch : mine.branches) {
      const RankPlan& theirs = plans[static_cast<std::size_t>(branch.rank)];
      EXPECT_EQ(theirs.parent, mine.rank);
      EXPECT_EQ(theirs.own.ranks, branch.ranks);
      EXPECT_EQ(theirs.own.places, branch.places);
      for (std::size_t i = 0; i < branch.ranks.size(); ++i)
        EXPECT_EQ(mine.own.ranks[static_cast<std::size_t>(branch.places[i])], branch.ranks[i]);
      reached += branch.ranks.size();
    }
    EXPECT_EQ(mine.own.ranks.size(), reached);
    for (std::size_t i = 0; i < mine.memberships.size(); ++i) {
      const Membership& member = mine.memberships[i];
      EXPECT_EQ(member.members[static_cast<std::size_t>(member.position)], mine.rank);
      EXPECT_EQ(member.leads, member.leader == mine.rank);
      const bool goes_on = i + 1 < mine.memberships.size();
      EXPECT_TRUE(member.leads || !goes_on) << "whoever takes part in the next level leads";
    }
    int rank = mine.rank;
    int hops = 0;
    while (plans[static_cast<std::size_t>(rank)].parent >= 0) {
      rank = plans[static_cast<std::size_t>(rank)].parent;
      ASSERT_LE(++hops, static_cast<int>(hierarchy.levels.size())) << "no deeper than there are levels";
    }
    EXPECT_EQ(rank, hierarchy.root);
  }
  EXPECT_EQ(edges, hierarchy.rank_count - 1);
}

TEST(RankPlan, RootLeadersAndMembersOfTheTwoSocketMachine) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Hierarchy hierarchy = build(place_by_affinity(machine, bound_to(sequence(64))), numa_socket, 10);
  const RankPlan root = plan(hierarchy, 10);
  EXPECT_EQ(root.parent, -1);
  EXPECT_EQ(root.parent_level, -1);
  EXPECT_EQ(root.children[0], (std::vector<int>{8, 9, 11, 12, 13, 14, 15}));
  EXPECT_EQ(root.children[1], (std::vector<int>{0, 16, 24}));
  EXPECT_EQ(root.children[2], std::vector<int>{32});
  EXPECT_EQ(root.child_count, 11);
  EXPECT_EQ(root.memberships.size(), 3u);

  const RankPlan socket_leader = plan(hierarchy, 32);
  EXPECT_EQ(socket_leader.parent, 10);
  EXPECT_EQ(socket_leader.parent_level, 2);
  EXPECT_EQ(socket_leader.children[1], (std::vector<int>{40, 48, 56}));
  EXPECT_TRUE(socket_leader.memberships[1].leads);
  EXPECT_FALSE(socket_leader.memberships[2].leads);
  EXPECT_TRUE(socket_leader.memberships[2].children().empty());

  const RankPlan leaf = plan(hierarchy, 63);
  EXPECT_EQ(leaf.parent, 56);
  EXPECT_EQ(leaf.parent_level, 0);
  EXPECT_EQ(leaf.child_count, 0);
  ASSERT_EQ(leaf.memberships.size(), 1u);
  EXPECT_EQ(leaf.memberships[0].position, 7);
}

TEST(RankPlan, OneRankHasNeitherParentNorChildren) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const RankPlan only = plan(build(place_by_affinity(machine, bound_to({5})), numa_socket, 0), 0);
  EXPECT_EQ(only.parent, -1);
  EXPECT_EQ(only.child_count, 0);
  EXPECT_TRUE(only.memberships.empty());
}

TEST(RankPlan, PlansFitTogetherForEveryRootMappingAndSize) {
  const Machine machine = machine_of("package:2 numa:2 l3:2 core:3 pu:1");
  const std::vector<LevelKind> kinds{all_level_kinds.begin(), all_level_kinds.end()};
  for (unsigned seed = 0; seed < 4; ++seed)
    for (const int ranks : {1, 2, 3, 7, 16, 17, 24}) {
      auto units = shuffled(24, seed);
      units.resize(static_cast<std::size_t>(ranks));
      const Placement placement = place_by_affinity(machine, bound_to(units));
      for (int root = 0; root < ranks; ++root) expect_consistent(build(placement, kinds, root));
    }
}

TEST(RankPlan, PlansFitTogetherOnTheLargestMachine) {
  const Machine machine = machine_of("package:2 numa:8 core:160 pu:1");
  expect_consistent(build(place_by_affinity(machine, bound_to(shuffled(2560, 5))), numa_socket, 99));
}

TEST(MessageCounts, AreThoseOfTableTwoForEveryRootAndMapping) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const MessageCounts expected{1, 6, 56};
  for (const auto& units : {sequence(64), round_robin(8, 8), round_robin(2, 32), shuffled(64, 11), shuffled(64, 12)}) {
    const Placement placement = place_by_affinity(machine, bound_to(units));
    for (int root = 0; root < 64; ++root)
      EXPECT_EQ(message_counts(build(placement, numa_socket, root), placement), expected) << "root " << root;
  }
}

TEST(MessageCounts, FlatTreeCrossesBoundariesForEveryForeignRank) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Placement placement = place_by_affinity(machine, bound_to(sequence(64)));
  EXPECT_EQ(message_counts(build(placement, Levels{}, 10), placement), (MessageCounts{32, 24, 7}));
}

TEST(MessageCounts, CrossEachBoundaryOnceForEveryDomainInUse) {
  const Machine machine = machine_of("package:2 numa:8 core:10");
  for (unsigned seed = 0; seed < 10; ++seed) {
    auto units = shuffled(160, seed);
    units.resize(3 + seed * 15);
    const Placement placement = place_by_affinity(machine, bound_to(units));
    std::set<int> sockets, nodes;
    for (const RankPlace& place : placement.ranks) {
      sockets.insert(place.domain[index_of(LevelKind::socket)]);
      nodes.insert(place.domain[index_of(LevelKind::numa)]);
    }
    const auto counts = message_counts(build(placement, numa_socket, static_cast<int>(seed) % 3), placement);
    EXPECT_EQ(counts.inter_socket, static_cast<int>(sockets.size()) - 1);
    EXPECT_EQ(counts.inter_numa, static_cast<int>(nodes.size() - sockets.size()));
    EXPECT_EQ(counts.intra_numa, static_cast<int>(units.size() - nodes.size()));
  }
}

TEST(MessageCounts, UnboundRanksAreNeighbours) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Placement placement = place_by_affinity(machine, std::vector<CpuSet>(8));
  EXPECT_EQ(message_counts(build(placement, numa_socket, 0), placement), (MessageCounts{0, 0, 7}));
}

}  // namespace
}  // namespace tutti::topology
