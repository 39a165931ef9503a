#include "topology/distance.h"

#include <gtest/gtest.h>

#include "machines.h"
#include "topology/mapping.h"

namespace tutti::topology {
namespace {

using testing::machine_of;
using testing::sequence;

Placement placed(const char* description, const std::vector<int>& units) {
  return place_by_affinity(machine_of(description), testing::bound_to(units));
}

Distances distances_of(const Placement& placement, const char* levels = "auto") {
  std::string error;
  const auto spec = parse_levels(levels, error);
  return distances(placement, choose_levels(*spec, placement));
}

TEST(Distance, IsThatOfTheInnermostThingInCommon) {
  const Placement placement = placed("package:2 numa:2 l3:2 core:2 pu:1", {0, 1, 2, 4, 8});
  const auto from_first = [&](std::size_t other) {
    return distance_between(placement.ranks[0], placement.ranks[other]);
  };
  EXPECT_EQ(from_first(0), Distance::cache);
  EXPECT_EQ(from_first(1), Distance::cache);
  EXPECT_EQ(from_first(2), Distance::numa);
  EXPECT_EQ(from_first(3), Distance::socket);
  EXPECT_EQ(from_first(4), Distance::machine);
}

TEST(Distance, SocketsAreFarApartThoughOneNumaNodeSpansThem) {
  const Placement placement = placed("numa:1 package:2 core:2 pu:1", {0, 1, 2});
  ASSERT_EQ(placement.ranks[0].domain[index_of(LevelKind::numa)], placement.ranks[2].domain[index_of(LevelKind::numa)]);
  EXPECT_EQ(distance_between(placement.ranks[0], placement.ranks[1]), Distance::numa);
  EXPECT_EQ(distance_between(placement.ranks[0], placement.ranks[2]), Distance::machine);
}

TEST(Distance, OfWhoMayRunInSeveralDomainsIsThatOfWhatTheyAreSureToShare) {
  const Machine machine = machine_of("package:2 numa:2 core:2 pu:1");
  CpuSet socket{0, 1, 2, 3};
  const Placement placement =
      place_by_affinity(machine, std::vector<CpuSet>{socket, socket, CpuSet{0}, CpuSet{0, 1}, CpuSet{0, 7}});
  EXPECT_EQ(distance_between(placement.ranks[0], placement.ranks[1]), Distance::socket);
  EXPECT_EQ(distance_between(placement.ranks[0], placement.ranks[2]), Distance::socket);
  EXPECT_EQ(distance_between(placement.ranks[2], placement.ranks[3]), Distance::numa);
  EXPECT_EQ(distance_between(placement.ranks[4], placement.ranks[4]), Distance::machine);
}

TEST(Distances, WhereOneCacheServesAllAreNear) {
  const Distances found = distances_of(placed("package:1 l3:1 core:8 pu:1", sequence(8)));
  EXPECT_EQ(found.widest(), Distance::cache);
  EXPECT_EQ(found.pairs, (DistanceShares{1, 0, 0, 0}));
  EXPECT_EQ(found.levels, (DistanceShares{1, 0, 0, 0}));
}

TEST(Distances, OfRanksWithUnknownMasksAreNearWhereOneCacheServesAll) {
  const Machine machine = machine_of("package:1 l3:1 core:2 pu:1");
  EXPECT_EQ(distances_of(place_by_affinity(machine, std::vector<CpuSet>(2))).widest(), Distance::cache);
}

TEST(Distances, PairsAreCountedOneByOne) {
  const std::vector<int> units{0, 1, 2, 4, 5, 8, 12, 13};
  const Placement placement = placed("package:2 numa:2 l3:2 core:2 pu:1", units);
  DistanceShares counted{};
  for (std::size_t a = 0; a < units.size(); ++a)
    for (std::size_t b = a + 1; b < units.size(); ++b)
      counted[index_of(distance_between(placement.ranks[a], placement.ranks[b]))] += 1.0 / 28;
  const Distances found = distances_of(placement);
  for (const Distance distance : all_distances)
    EXPECT_NEAR(found.pairs[index_of(distance)], counted[index_of(distance)], 1e-12) << name_of(distance);
  EXPECT_EQ(found.widest(), Distance::machine);
}

TEST(Distances, RanksOfOneCoreAreNoPair) {
  // Two cores on different sockets, four ranks each.
  const Distances found = distances_of(placed("package:2 core:1 pu:1", {0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(found.pairs, (DistanceShares{0, 0, 0, 1}));
  EXPECT_EQ(distances_of(placed("package:2 core:1 pu:1", {0, 0})).pairs, (DistanceShares{1, 0, 0, 0}));
}

TEST(Distances, EachLevelIsAsWideAsItsWidestGroup) {
  const Placement placement = placed(testing::two_socket_machine, sequence(64));
  EXPECT_EQ(distances_of(placement, "numa+socket").levels, (DistanceShares{0, 1.0 / 3, 1.0 / 3, 1.0 / 3}));
  EXPECT_EQ(distances_of(placement, "socket").levels, (DistanceShares{0, 0, 0.5, 0.5}));
  EXPECT_EQ(distances_of(placement, "flat").levels, (DistanceShares{0, 0, 0, 1}));
}

TEST(Distances, LevelsThatAreArtificialHaveNoBoundary) {
  const Placement placement = placed(testing::two_socket_machine, sequence(64));
  const Distances whole = distances_of(placement, "numa+socket"), cut = distances_of(placement, "numa+socket+4");
  EXPECT_EQ(whole.boundaries, whole.levels);
  EXPECT_EQ(cut.boundaries, whole.boundaries);
  EXPECT_EQ(cut.levels, (DistanceShares{0, 0.5, 0.25, 0.25}));
}

TEST(Distances, SayHowTheHierarchyBranches) {
  const Branching flat = distances_of(placed("package:1 core:8 pu:1", sequence(8))).branching;
  EXPECT_EQ(flat.children, 7);
  EXPECT_EQ(flat.largest, 1);
  EXPECT_EQ(flat.on_the_way, 0);
  EXPECT_EQ(flat.group, 8);
  // Two sockets of three caches of four: 3 beside rank 0, 2 leaders of its socket, 1 of the other one.
  const Branching deep = distances_of(placed("package:2 l3:3 core:4 pu:1", sequence(24))).branching;
  EXPECT_EQ(deep.children, 3 + 2 + 1);
  EXPECT_EQ(deep.largest, 12);
  EXPECT_EQ(deep.on_the_way, 12 + 4);
  EXPECT_EQ(deep.group, 4);
}

TEST(Distances, OfTwoRanksAreThoseOfTheirPair) {
  const Distances found = distances_of(placed("package:2 core:2 pu:1", {0, 2}));
  EXPECT_EQ(found.pairs, (DistanceShares{0, 0, 0, 1}));
  EXPECT_EQ(found.consecutive, found.pairs);
}

TEST(Distances, OfOneRankAreNear) {
  const Distances found = distances_of(placed("package:2 core:1 pu:1", {0}));
  EXPECT_EQ(found.pairs, (DistanceShares{1, 0, 0, 0}));
  EXPECT_EQ(found.levels, (DistanceShares{1, 0, 0, 0}));
}

}  // namespace
}  // namespace tutti::topology
