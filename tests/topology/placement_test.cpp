#include "topology/placement.h"

#include "topology/machines.h"
#include "topology/turns.h"

namespace tutti::topology {
namespace {

using testing::bound_to;
using testing::machine_of;
using testing::units_in;

constexpr auto numa = index_of(LevelKind::numa);
constexpr auto socket = index_of(LevelKind::socket);

TEST(Placement, BoundRankHasTheDomainsOfItsUnit) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Placement placement = place_by_affinity(machine, bound_to({0, 63}));
  EXPECT_EQ(placement.ranks[0].domain[numa], 0);
  EXPECT_EQ(placement.ranks[1].domain[numa], 7);
  EXPECT_EQ(placement.ranks[1].domain[socket], 1);
  EXPECT_EQ(placement.ranks[1].unit, 63);
  EXPECT_EQ(placement.ranks[1].core, 63);
  EXPECT_EQ(placement.ranks[1].domain[index_of(LevelKind::l3)], -1) << "the machine has none";
}

TEST(Placement, RankBoundToASocketHasNoNumaNode) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const std::vector<CpuSet> masks{units_in(machine, LevelKind::socket, 1), units_in(machine, LevelKind::numa, 3)};
  const Placement placement = place_by_affinity(machine, masks);
  EXPECT_EQ(placement.ranks[0].domain[socket], 1);
  EXPECT_EQ(placement.ranks[0].domain[numa], -1);
  EXPECT_EQ(placement.ranks[0].core, -1);
  EXPECT_EQ(placement.ranks[1].domain[numa], 3);
  EXPECT_EQ(placement.ranks[1].domain[socket], 0);
  EXPECT_EQ(placement.ranks[1].unit, -1);
}

TEST(Placement, UnknownAndUnboundMasksHaveNoDomains) {
  const Machine machine = machine_of(testing::two_socket_machine);
  CpuSet everything;
  for (int unit = 0; unit < 64; ++unit) everything.insert(unit);
  const Placement placement = place_by_affinity(machine, std::vector<CpuSet>{CpuSet{}, everything, CpuSet{1000}});
  for (const RankPlace& place : placement.ranks) {
    EXPECT_EQ(place.domain, (Domains{-1, -1, -1, -1}));
    EXPECT_EQ(place.unit, -1);
  }
}

TEST(Placement, AnUnknownMaskIsInWhatTheWholeMachineHasInCommon) {
  const Machine machine = machine_of("package:1 numa:2 core:2 pu:1");
  const RankPlace place = place_by_affinity(machine, std::vector<CpuSet>{CpuSet{}}).ranks[0];
  EXPECT_EQ(place.domain[index_of(LevelKind::socket)], 0);
  EXPECT_EQ(place.domain[index_of(LevelKind::numa)], -1);
}

TEST(Placement, HyperthreadsOfOneCoreShareTheCore) {
  const Machine machine = machine_of("package:1 l3:1 core:2 pu:2");
  const Placement placement = place_by_affinity(machine, std::vector<CpuSet>{CpuSet{0, 1}, CpuSet{1}, CpuSet{1, 2}});
  EXPECT_EQ(placement.ranks[0].core, 0);
  EXPECT_EQ(placement.ranks[0].unit, -1);
  EXPECT_EQ(placement.ranks[1].core, 0);
  EXPECT_EQ(placement.ranks[2].core, -1);
  EXPECT_EQ(placement.ranks[2].domain[index_of(LevelKind::l3)], 0);
}

TEST(Placement, OnADescribedMachineRanksSitOnUnitsInOrderAndWrapRound) {
  const Machine machine = machine_of("package:2 core:2 pu:1");
  const Placement placement = place(machine, std::vector<CpuSet>(6, CpuSet{0, 1}));
  const std::vector<int> sockets{0, 0, 1, 1, 0, 0};
  for (std::size_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(placement.ranks[rank].domain[socket], sockets[rank]);
    EXPECT_EQ(placement.ranks[rank].unit, static_cast<int>(rank % 4));
  }
  EXPECT_EQ(placement.cores_available, 2) << "of the machine that the ranks really run on";
  EXPECT_DOUBLE_EQ(placement.ranks_per_core, 3.0);
}

TEST(Placement, OnThisMachineAffinityCounts) {
  const Machine machine = machine_of("");
  const CpuSet mine = affinity_of_this_thread();
  const Placement placement = place(machine, std::vector<CpuSet>{CpuSet{mine.first()}});
  EXPECT_EQ(placement.ranks[0].unit, machine.find(mine.first()));
  EXPECT_EQ(placement.cores_available, 1);
}

struct Crowd {
  const char* name;
  std::vector<CpuSet> masks;
  int cores;
  double ranks_per_core;
  bool oversubscribed;
};

TEST(Placement, CrowdingFollowsTheMasks) {
  const CpuSet all{0, 1, 2, 3};
  const std::vector<Crowd> crowds{
      {"as many as units", std::vector<CpuSet>(4, all), 4, 1.0, false},
      {"more than units", std::vector<CpuSet>(5, all), 4, 1.25, true},
      {"one each", {CpuSet{0}, CpuSet{1}}, 2, 1.0, false},
      {"two on one unit among free ones", {CpuSet{0}, CpuSet{0}, CpuSet{1, 2, 3}}, 4, 2.0, true},
      {"a bound one beside wide ones", {CpuSet{0}, all, all, all}, 4, 1.0, false},
      {"bound ones fill what a wide one could use", {CpuSet{0}, CpuSet{1}, CpuSet{0, 1}, CpuSet{2, 3}}, 4, 1.5, true},
      {"few on many", std::vector<CpuSet>(2, all), 4, 0.5, false},
  };
  const Machine machine = machine_of("core:4 pu:1");
  for (const Crowd& crowd : crowds) {
    const Placement placement = place_by_affinity(machine, crowd.masks);
    EXPECT_EQ(placement.cores_available, crowd.cores) << crowd.name;
    EXPECT_DOUBLE_EQ(placement.ranks_per_core, crowd.ranks_per_core) << crowd.name;
    EXPECT_EQ(placement.oversubscribed(), crowd.oversubscribed) << crowd.name;
  }
}

TEST(Placement, UnknownMasksAreJudgedByTheWholeMachine) {
  const Machine machine = machine_of("core:4 pu:1");
  EXPECT_FALSE(place_by_affinity(machine, std::vector<CpuSet>(4)).oversubscribed());
  EXPECT_TRUE(place_by_affinity(machine, std::vector<CpuSet>(5)).oversubscribed());
}

/// As many cores as ranks, and less time.
TEST(Placement, QuotasCrowdTheRanksOfTheirGroup) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const auto crowded = [&](const std::vector<TimeQuota>& quotas) {
    Placement placement = place_by_affinity(machine, bound_to({0, 1, 2, 3}));
    crowd_by_quotas(placement, quotas);
    return placement;
  };
  const TimeQuota none, half{7, 0.5}, one{8, 1}, two{9, 2}, four{7, 4}, others{11, 2};
  EXPECT_FALSE(crowded({none, none, none, none}).oversubscribed());
  EXPECT_FALSE(crowded({four, four, four, four}).oversubscribed());
  EXPECT_FALSE(crowded({two, two, others, others}).oversubscribed()) << "a container for each two";
  EXPECT_FALSE(crowded({one, none, none, none}).oversubscribed());
  EXPECT_EQ(crowded({two, two, two, two}).ranks_per_core, 2);
  EXPECT_EQ(crowded({two, two, two, two}).least_time, 2);
  EXPECT_EQ(crowded({two, two, two, others}).ranks_per_core, 1.5);
  EXPECT_EQ(crowded({half, none, none, none}).ranks_per_core, 2);
  EXPECT_TRUE(crowded({two, two, two, others}).oversubscribed());
}

/// What is tighter counts.
TEST(Placement, QuotasThatLeaveMoreThanTheCoresChangeNothing) {
  const Machine machine = machine_of(testing::two_socket_machine);
  Placement placement = place_by_affinity(machine, bound_to({0, 0, 0, 0}));
  crowd_by_quotas(placement, std::vector<TimeQuota>(4, TimeQuota{7, 2}));
  EXPECT_EQ(placement.ranks_per_core, 4);
  EXPECT_EQ(placement.least_time, 0);
}

TEST(Placement, SubsetRenumbersRanksAndKeepsTheCrowding) {
  const Machine machine = machine_of(testing::two_socket_machine);
  const Placement placement = place_by_affinity(machine, bound_to({0, 0, 20, 40}));
  const Placement part = subset(placement, std::vector<int>{3, 0});
  ASSERT_EQ(part.ranks.size(), 2u);
  EXPECT_EQ(part.ranks[0].unit, 40);
  EXPECT_EQ(part.ranks[1].unit, 0);
  EXPECT_EQ(part.cores_available, 3);
  EXPECT_TRUE(part.oversubscribed()) << "rank 1 of the node still runs where our rank 1 does";
}

TEST(Turns, EachMeetsTheNextOneAndTheOneBeforeOfItsDomain) {
  // Two caches of four cores; the ranks of each are 0, 2, 3, 6 and 1, 4, 5.
  const Placement placement =
      place_by_affinity(machine_of("l3:2 core:4 pu:1"), testing::bound_to({0, 4, 1, 2, 5, 6, 3}));
  const std::vector<std::vector<int>> expected{{2, 4, 0, 6, 1, -1, 3}, {-1, -1, 3, 2, 5, 4, -1}};
  for (int turn : {0, 1})
    for (int rank = 0; rank < 7; ++rank) {
      const int met = met_in_turn(placement, LevelKind::l3, rank, turn);
      EXPECT_EQ(met, expected[static_cast<std::size_t>(turn)][static_cast<std::size_t>(rank)]) << rank << " " << turn;
      if (met >= 0) {
        EXPECT_EQ(met_in_turn(placement, LevelKind::l3, met, turn), rank);
      }
    }
  EXPECT_EQ(met_in_turn(placement, LevelKind::l2, 0, 0), -1) << "no such level";
}

}  // namespace
}  // namespace tutti::topology
