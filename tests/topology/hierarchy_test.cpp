#include "topology/hierarchy.h"

#include <set>

#include "topology/machines.h"

namespace tutti::topology {
namespace {

using testing::bound_to;
using testing::machine_of;
using testing::sequence;
using testing::shuffled;
using testing::units_in;

const std::vector<LevelKind> numa_socket{LevelKind::numa, LevelKind::socket};

Placement on_units(const Machine& machine, const std::vector<int>& units) {
  return place_by_affinity(machine, bound_to(units));
}

/// What must hold of every hierarchy: each rank but the root is a mere member exactly once, below that it
/// leads.
void expect_a_tree(const Hierarchy& hierarchy) {
  std::vector<int> times_member(static_cast<std::size_t>(hierarchy.rank_count), 0);
  std::set<int> participants;
  for (const int rank : sequence(hierarchy.rank_count)) participants.insert(rank);
  for (const Level& level : hierarchy.levels) {
    ASSERT_FALSE(level.groups.empty());
    std::set<int> seen;
    for (std::size_t g = 0; g < level.groups.size(); ++g) {
      const Group& group = level.groups[g];
      ASSERT_GE(group.members.size(), 2u);
      EXPECT_TRUE(std::is_sorted(group.members.begin(), group.members.end()));
      const bool has_root = std::count(group.members.begin(), group.members.end(), hierarchy.root) > 0;
      EXPECT_EQ(group.leader, has_root ? hierarchy.root : group.members.front());
      for (const int rank : group.members) {
        EXPECT_TRUE(participants.count(rank)) << "rank " << rank << " was led by another below";
        EXPECT_TRUE(seen.insert(rank).second) << "rank " << rank << " in two groups of a level";
        EXPECT_EQ(level.group_of[static_cast<std::size_t>(rank)], static_cast<int>(g));
        if (rank != group.leader) ++times_member[static_cast<std::size_t>(rank)];
      }
    }
    for (const int rank : sequence(hierarchy.rank_count))
      EXPECT_EQ(level.group_of[static_cast<std::size_t>(rank)] < 0, !seen.count(rank));
    for (const Group& group : level.groups)
      for (const int rank : group.members)
        if (rank != group.leader) participants.erase(rank);
  }
  for (const int rank : sequence(hierarchy.rank_count))
    EXPECT_EQ(times_member[static_cast<std::size_t>(rank)], rank == hierarchy.root ? 0 : 1) << "rank " << rank;
}

std::vector<std::size_t> groups_per_level(const Hierarchy& hierarchy) {
  std::vector<std::size_t> counts;
  for (const Level& level : hierarchy.levels) counts.push_back(level.groups.size());
  return counts;
}

TEST(Hierarchy, NumaAndSocketGiveThreeLevelsOfTheTwoSocketMachine) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Hierarchy hierarchy = build(on_units(machine, sequence(64)), numa_socket, 0);
  expect_a_tree(hierarchy);
  ASSERT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{8, 2, 1}));
  EXPECT_EQ(hierarchy.levels[0].kind, LevelKind::numa);
  EXPECT_EQ(hierarchy.levels[1].kind, LevelKind::socket);
  EXPECT_EQ(hierarchy.levels[2].kind, std::nullopt);
  EXPECT_EQ(hierarchy.levels[0].groups[1].members, (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(hierarchy.levels[1].groups[1].members, (std::vector<int>{32, 40, 48, 56}));
  EXPECT_EQ(hierarchy.levels[2].groups[0].members, (std::vector<int>{0, 32}));
}

TEST(Hierarchy, RootLeadsEveryGroupItIsIn) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Hierarchy hierarchy = build(on_units(machine, sequence(64)), numa_socket, 42);
  EXPECT_EQ(hierarchy.levels[0].groups[5].leader, 42);
  EXPECT_EQ(hierarchy.levels[1].groups[1].members, (std::vector<int>{32, 42, 48, 56}));
  EXPECT_EQ(hierarchy.levels[1].groups[1].leader, 42);
  EXPECT_EQ(hierarchy.levels[2].groups[0], (Group{42, {0, 42}}));
}

TEST(Hierarchy, OrderOfTheLevelNamesDoesNotMatter) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const std::vector<LevelKind> reversed{LevelKind::socket, LevelKind::numa};
  const Hierarchy hierarchy = build(on_units(machine, sequence(64)), reversed, 0);
  EXPECT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{8, 2, 1}));
}

TEST(Hierarchy, FlatIsOneGroupOfAll) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Hierarchy hierarchy = build(on_units(machine, shuffled(64, 1)), Levels{}, 5);
  expect_a_tree(hierarchy);
  ASSERT_EQ(hierarchy.levels.size(), 1u);
  EXPECT_EQ(hierarchy.levels[0].kind, std::nullopt);
  EXPECT_EQ(hierarchy.levels[0].groups[0], (Group{5, sequence(64)}));
}

TEST(Hierarchy, IsATreeForEveryMachineMappingRootAndSpec) {
  const std::vector<const char*> machines{"core:1 pu:1",
                                          "core:2 pu:1",
                                          "package:2 numa:2 core:2 pu:1",
                                          "package:3 l3:2 l2:3 core:1 pu:1",
                                          "numa:2 package:2 l3:2 core:2 pu:1",
                                          "package:2 l3:1 numa:2 core:3 pu:2"};
  const std::vector<std::vector<LevelKind>> specs{{},
                                                  {LevelKind::numa},
                                                  numa_socket,
                                                  {LevelKind::l3, LevelKind::numa, LevelKind::socket},
                                                  {all_level_kinds.begin(), all_level_kinds.end()}};
  for (const char* description : machines) {
    const Machine machine = machine_of(description);
    for (unsigned seed = 0; seed < 5; ++seed) {
      const Placement placement = on_units(machine, shuffled(machine.unit_count(), seed));
      for (const auto& spec : specs)
        for (int root = 0; root < machine.unit_count(); ++root) {
          SCOPED_TRACE(std::string(description) + ", root " + std::to_string(root));
          const Hierarchy hierarchy = build(placement, spec, root);
          expect_a_tree(hierarchy);
          EXPECT_LE(hierarchy.levels.size(), spec.size() + 1);
        }
    }
  }
}

TEST(Hierarchy, MembersShareTheDomainOfTheirLevel) {
  const Machine machine = machine_of("package:2 numa:8 core:10");
  const std::vector<LevelKind> kinds = numa_socket;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Placement placement = on_units(machine, shuffled(160, seed));
    const Hierarchy hierarchy = build(placement, kinds, static_cast<int>(seed) * 31);
    expect_a_tree(hierarchy);
    ASSERT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{16, 2, 1}));
    for (const Level& level : hierarchy.levels) {
      if (!level.kind) continue;
      for (const Group& group : level.groups)
        for (const int rank : group.members)
          EXPECT_EQ(placement.ranks[static_cast<std::size_t>(rank)].domain[index_of(*level.kind)],
                    placement.ranks[static_cast<std::size_t>(group.leader)].domain[index_of(*level.kind)]);
    }
  }
}

TEST(Hierarchy, LargestMachineHasEveryRankOnce) {
  const Machine machine = machine_of("package:2 numa:8 core:160 pu:1");
  ASSERT_EQ(machine.unit_count(), 2560);
  const Hierarchy hierarchy = build(on_units(machine, shuffled(2560, 7)), numa_socket, 1234);
  expect_a_tree(hierarchy);
  EXPECT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{16, 2, 1}));
}

TEST(Hierarchy, SubsetUsesTheNumbersOfTheCommunicator) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Placement node = on_units(machine, sequence(64));
  // Two ranks of NUMA node 7, one of node 0, two of node 1: numbered 0 to 4.
  const Placement placement = subset(node, std::vector<int>{60, 61, 3, 9, 8});
  const Hierarchy hierarchy = build(placement, numa_socket, 1);
  expect_a_tree(hierarchy);
  ASSERT_EQ(hierarchy.levels.size(), 3u);
  EXPECT_EQ(hierarchy.levels[0].groups, (std::vector<Group>{{1, {0, 1}}, {3, {3, 4}}})) << "rank 2 alone drops out";
  EXPECT_EQ(hierarchy.levels[1].groups, (std::vector<Group>{{2, {2, 3}}})) << "the other socket has one leader";
  EXPECT_EQ(hierarchy.levels[2].groups, (std::vector<Group>{{1, {1, 2}}}));
}

TEST(Hierarchy, RandomSubsetsAreTreesForEveryRoot) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Placement node = on_units(machine, shuffled(64, 3));
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<int> ranks = shuffled(64, 100 + seed);
    ranks.resize(1 + seed * 3);
    const Placement placement = subset(node, ranks);
    for (int root = 0; root < static_cast<int>(ranks.size()); ++root)
      expect_a_tree(build(placement, numa_socket, root));
  }
}

TEST(Hierarchy, OneRankHasNoLevels) {
  const Machine machine = machine_of(testing::two_socket_machine);
  EXPECT_TRUE(build(on_units(machine, {17}), numa_socket, 0).levels.empty());
}

TEST(Hierarchy, LevelsOfOneRankPerGroupDropOut) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Hierarchy hierarchy = build(on_units(machine, {0, 8, 16, 32}), numa_socket, 0);
  expect_a_tree(hierarchy);
  ASSERT_EQ(hierarchy.levels.size(), 2u);
  EXPECT_EQ(hierarchy.levels[0].kind, LevelKind::socket);
  EXPECT_EQ(hierarchy.levels[0].groups, (std::vector<Group>{{0, {0, 1, 2}}}));
  EXPECT_EQ(hierarchy.levels[1].groups, (std::vector<Group>{{0, {0, 3}}}));
}

TEST(Hierarchy, LevelThatTheMachineLacksChangesNothing) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const std::vector<LevelKind> with_caches{LevelKind::l2, LevelKind::l3, LevelKind::numa, LevelKind::socket};
  const Placement placement = on_units(machine, sequence(64));
  const Hierarchy plain = build(placement, numa_socket, 9);
  const Hierarchy cached = build(placement, with_caches, 9);
  ASSERT_EQ(cached.levels.size(), plain.levels.size());
  for (std::size_t i = 0; i < plain.levels.size(); ++i) {
    EXPECT_EQ(cached.levels[i].groups, plain.levels[i].groups);
    EXPECT_EQ(cached.levels[i].kind, plain.levels[i].kind);
  }
}

TEST(Hierarchy, UnboundRanksFormOneGroup) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Hierarchy hierarchy = build(place_by_affinity(machine, std::vector<CpuSet>(9)), numa_socket, 4);
  ASSERT_EQ(hierarchy.levels.size(), 1u);
  EXPECT_EQ(hierarchy.levels[0].kind, std::nullopt);
  EXPECT_EQ(hierarchy.levels[0].groups[0], (Group{4, sequence(9)}));
}

TEST(Hierarchy, RanksBoundToSocketsAreGroupedBySocketOnly) {
  const Machine machine = machine_of(testing::two_socket_machine);
  std::vector<CpuSet> masks;
  for (int rank = 0; rank < 6; ++rank) masks.push_back(units_in(machine, LevelKind::socket, rank % 2));
  const Hierarchy hierarchy = build(place_by_affinity(machine, masks), numa_socket, 0);
  expect_a_tree(hierarchy);
  ASSERT_EQ(hierarchy.levels.size(), 2u);
  EXPECT_EQ(hierarchy.levels[0].groups, (std::vector<Group>{{0, {0, 2, 4}}, {1, {1, 3, 5}}}));
  EXPECT_EQ(hierarchy.levels[1].groups, (std::vector<Group>{{0, {0, 1}}}));
}

TEST(Hierarchy, SomeUnboundRanksStayTogetherBesideTheBoundOnes) {
  const Machine machine = machine_of(testing::two_socket_machine);
  std::vector<CpuSet> masks = bound_to({0, 1, 40, 41});
  masks.resize(6);  // two ranks whose place is unknown
  const Hierarchy hierarchy = build(place_by_affinity(machine, masks), numa_socket, 0);
  expect_a_tree(hierarchy);
  EXPECT_EQ(hierarchy.levels[0].groups, (std::vector<Group>{{0, {0, 1}}, {2, {2, 3}}, {4, {4, 5}}}));
  EXPECT_EQ(hierarchy.levels.back().groups, (std::vector<Group>{{0, {0, 2, 4}}}));
}

TEST(ChooseLevels, AutoTakesWhatSplitsTheRanksDifferently) {
  const auto chosen = [](const char* description, const std::vector<int>& units) {
    LevelSpec spec;
    spec.automatic = true;
    return choose_levels(spec, on_units(machine_of(description), units)).kinds;
  };
  using Kinds = std::vector<LevelKind>;
  EXPECT_EQ(chosen(testing::two_socket_machine, sequence(64)), numa_socket);
  EXPECT_EQ(chosen("package:2 numa:4 l3:2 core:4 pu:1", sequence(64)),
            (Kinds{LevelKind::l3, LevelKind::numa, LevelKind::socket}));
  EXPECT_EQ(chosen("package:2 [numa] l3:1 core:4 pu:1", sequence(8)), Kinds{LevelKind::socket})
      << "three levels that split alike are one";
  EXPECT_EQ(chosen("package:2 l3:1 numa:2 core:4 pu:1", sequence(16)), numa_socket) << "an L3 over two NUMA nodes";
  EXPECT_EQ(chosen("package:1 l3:1 core:8 pu:1", sequence(8)), Kinds{}) << "nothing splits the ranks";
  EXPECT_EQ(chosen("package:4 core:1 pu:1", sequence(4)), Kinds{}) << "every rank alone is no level";
  EXPECT_EQ(chosen(testing::two_socket_machine, {0, 1, 8, 9}), Kinds{LevelKind::numa}) << "one socket in use";
}

TEST(ChooseLevels, GivenListStaysAsItIs) {
  LevelSpec spec;
  spec.kinds = {LevelKind::l2, LevelKind::numa};
  EXPECT_EQ(choose_levels(spec, on_units(machine_of(testing::two_socket_machine), sequence(4))).kinds, spec.kinds);
}

TEST(ChooseLevels, AutoOnUnboundRanksIsFlat) {
  LevelSpec spec;
  spec.automatic = true;
  const Machine machine = machine_of(testing::two_socket_machine);
  EXPECT_TRUE(choose_levels(spec, place_by_affinity(machine, std::vector<CpuSet>(64))).kinds.empty());
}

Hierarchy cut_at(const char* description, const std::vector<int>& units, int widest, int root = 0,
                 std::vector<LevelKind> kinds = {}) {
  return build(on_units(machine_of(description), units), Levels{std::move(kinds), widest}, root);
}

std::vector<std::size_t> widths_of(const Level& level) {
  std::vector<std::size_t> widths;
  for (const Group& group : level.groups) widths.push_back(group.members.size());
  return widths;
}

TEST(CutGroups, OneWideGroupBecomesNeighboursOfAboutItsSquareRoot) {
  const Hierarchy hierarchy = cut_at("package:1 l3:1 core:60 pu:1", sequence(60), 16);
  expect_a_tree(hierarchy);
  ASSERT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{8, 1}));
  EXPECT_EQ(widths_of(hierarchy.levels[0]), (std::vector<std::size_t>{7, 8, 7, 8, 7, 8, 7, 8}));
  EXPECT_EQ(hierarchy.levels[0].groups[1].members, (std::vector<int>{7, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_TRUE(hierarchy.levels[0].artificial);
  EXPECT_EQ(hierarchy.levels[0].kind, std::nullopt);
  EXPECT_FALSE(hierarchy.levels[1].artificial);
}

TEST(CutGroups, NeighboursAreThoseByCoreWhateverTheOrderOfRanks) {
  // Rank i is on core 59 - i.
  std::vector<int> units = sequence(60);
  std::reverse(units.begin(), units.end());
  EXPECT_EQ(cut_at("package:1 core:60 pu:1", units, 16).levels[0].groups.back().members,
            (std::vector<int>{53, 54, 55, 56, 57, 58, 59}));
  // Consecutive ranks on different halves of the machine.
  const Hierarchy hierarchy = cut_at("package:1 core:32 pu:1", testing::round_robin(2, 16), 8);
  for (const Group& group : hierarchy.levels[0].groups)
    for (const int rank : group.members) EXPECT_EQ(rank % 2, group.leader % 2);
}

TEST(CutGroups, ThoseOfTheMachineAreCutWithinThemselves) {
  const std::vector<LevelKind> socket{LevelKind::socket};
  const Hierarchy hierarchy = cut_at("package:2 l3:1 core:56 pu:1", sequence(112), 16, 70, socket);
  expect_a_tree(hierarchy);
  ASSERT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{14, 2, 1}));
  EXPECT_TRUE(hierarchy.levels[0].artificial);
  EXPECT_EQ(hierarchy.levels[1].kind, LevelKind::socket);
  EXPECT_FALSE(hierarchy.levels[1].artificial);
  for (const Group& group : hierarchy.levels[0].groups)
    EXPECT_EQ(group.members.front() / 56, group.members.back() / 56);
}

TEST(CutGroups, NothingChangesWhereTheyAreWithinTheBound) {
  for (const char* description : {"core:2 pu:1", "package:1 core:16 pu:1", "package:2 numa:4 core:8 pu:1"}) {
    const Machine machine = machine_of(description);
    const Placement placement = on_units(machine, sequence(machine.unit_count()));
    const Hierarchy plain = build(placement, numa_socket, 0);
    const Hierarchy bounded = build(placement, Levels{numa_socket, 16}, 0);
    ASSERT_EQ(bounded.levels.size(), plain.levels.size());
    for (std::size_t i = 0; i < plain.levels.size(); ++i) {
      EXPECT_EQ(bounded.levels[i].groups, plain.levels[i].groups);
      EXPECT_FALSE(bounded.levels[i].artificial);
    }
  }
}

TEST(CutGroups, OnlyTheWideOnesOfALevelAreCut) {
  // All of NUMA node 0 and two cores of node 1.
  std::vector<int> units = sequence(24);
  units.insert(units.end(), {24, 25});
  const Hierarchy hierarchy = cut_at("package:1 numa:2 core:24 pu:1", units, 16, 0, {LevelKind::numa});
  expect_a_tree(hierarchy);
  ASSERT_EQ(groups_per_level(hierarchy), (std::vector<std::size_t>{5, 2, 1}));
  EXPECT_EQ(hierarchy.levels[1].groups[1].members, (std::vector<int>{24, 25}));
}

TEST(CutGroups, AreTreesWithinTheBoundForEveryNumberOfRanksAndRoot) {
  const Machine machine = machine_of("package:1 core:100 pu:1");
  for (const int widest : {2, 4, 5, 16})
    for (int ranks = 1; ranks <= 100; ++ranks) {
      const Placement placement = on_units(machine, sequence(ranks));
      const Hierarchy reference = build(placement, Levels{{}, widest}, 0);
      for (const int root : {0, ranks / 2, ranks - 1}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, at most " + std::to_string(widest) + ", root " +
                     std::to_string(root));
        const Hierarchy hierarchy = build(placement, Levels{{}, widest}, root);
        expect_a_tree(hierarchy);
        ASSERT_EQ(groups_per_level(hierarchy), groups_per_level(reference));
        for (std::size_t level = 0; level < hierarchy.levels.size(); ++level) {
          // Levels as wide as each other, but for rounding.
          for (const Group& group : hierarchy.levels[level].groups)
            EXPECT_LE(group.members.size(), static_cast<std::size_t>(widest));
        }
        for (std::size_t i = 0; !hierarchy.levels.empty() && i < hierarchy.levels[0].groups.size(); ++i)
          EXPECT_EQ(hierarchy.levels[0].groups[i].members, reference.levels[0].groups[i].members);
      }
    }
}

TEST(CutGroups, ThereAreNoMoreLevelsThanFlags) {
  // Each five of these would be three levels, 15 in all.
  const Machine machine = machine_of("package:5 numa:5 l3:5 l2:5 core:5 pu:1");
  const Placement placement = on_units(machine, shuffled(3125, 1));
  const std::vector<LevelKind> all(all_level_kinds.begin(), all_level_kinds.end());
  for (const auto& kinds : {std::vector<LevelKind>{}, all}) {
    const Hierarchy hierarchy = build(placement, Levels{kinds, widest_least}, 0);
    expect_a_tree(hierarchy);
    EXPECT_LE(hierarchy.levels.size(), most_levels);
    EXPECT_GE(hierarchy.levels.size(), 12u);
  }
}

TEST(ChooseLevels, AutoCutsWideGroupsButNotWhereRanksShareCores) {
  LevelSpec spec;
  spec.automatic = true;
  const Machine machine = machine_of("package:1 core:64 pu:1");
  EXPECT_EQ(choose_levels(spec, on_units(machine, sequence(64))).widest, usual_widest);
  std::vector<int> twice = sequence(64);
  for (const int unit : sequence(64)) twice.push_back(unit);
  EXPECT_EQ(choose_levels(spec, on_units(machine, twice)).widest, 0);
  spec = {false, {LevelKind::socket}, 0};
  EXPECT_EQ(choose_levels(spec, on_units(machine, sequence(64))).widest, 0) << "a given list stays as it is";
  spec.widest = 8;
  EXPECT_EQ(choose_levels(spec, on_units(machine, twice)).widest, 8);
}

}  // namespace
}  // namespace tutti::topology
