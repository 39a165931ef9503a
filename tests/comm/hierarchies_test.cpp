// TUTTI_Comm_hierarchy on machines that are described, with a thread for each rank: the members of every group and of every
// conduit, in their order, against what follows from where the ranks sit, by arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/mpi.h"
#include "comm/thread_ranks.h"
#include "tutti.h"

namespace tutti::test {
namespace {

using Ranks = std::vector<int>;

/// A level of a machine whose objects have `units` units each, one behind the other; 0: the node.
struct Width {
  std::string name;
  int units;
};

/// The machines of the XHC and MPC papers, and one of four levels.
struct Shape {
  std::string description;
  int units;
  std::vector<Width> levels;  ///< that can part ranks, the outermost first
};
const Shape two_sockets_of_four{
    "package:2 numa:4 core:8 pu:1", 64, {{"node", 0}, {"Package", 32}, {"NUMANode", 8}, {"Core", 1}}};
const Shape two_sockets{"package:2 core:8 pu:1", 16, {{"node", 0}, {"Package", 8}, {"Core", 1}}};
const Shape three_sockets{
    "package:3 l3:2 core:4 pu:2", 48, {{"node", 0}, {"Package", 16}, {"L3Cache", 8}, {"Core", 2}, {"PU", 1}}};

enum class Leader { lowest, given, network };

struct World {
  Shape shape;
  std::vector<Seat> seats;
  Leader leader = Leader::lowest;
  int given = 0;
  int card = 0;  ///< a unit of the object that the network card is beside

  int ranks() const { return static_cast<int>(seats.size()); }
  /// The object of a rank, with its node; {-1, -1}: none.
  std::pair<int, int> object_of(int rank, int units) const {
    const Seat& seat = seats[static_cast<std::size_t>(rank)];
    if (units == 0) return {seat.node, 0};
    const int object = seat.unit / units;
    if (seat.or_unit && *seat.or_unit / units != object) return {-1, -1};
    return {seat.node, object};
  }
  /// Of the levels with several cores, those of which it shares no object with the card.
  int distance(int rank) const {
    int levels = 0;
    for (const Width& level : shape.levels)
      levels += level.units > 2 && seats[static_cast<std::size_t>(rank)].unit / level.units != card / level.units;
    return levels;
  }
  int preference(int rank) const {
    if (leader == Leader::lowest) return 0;
    return leader == Leader::given ? rank != given : distance(rank);
  }
  Ranks in_order(Ranks ranks) const {
    std::sort(ranks.begin(), ranks.end(),
              [&](int a, int b) { return std::pair(preference(a), a) < std::pair(preference(b), b); });
    return ranks;
  }
  Machines machines() const {
    std::string error;
    const auto resources = topology::Resources::load(shape.description, error);
    EXPECT_TRUE(resources) << error;
    topology::CpuSet near;
    const int numa = std::max(shape.levels[shape.levels.size() - 2].units, 8);
    for (int unit = card / numa * numa; unit < card / numa * numa + numa; ++unit) near.insert(unit);
    return {*resources, seats, {near}};
  }
};

/// What one rank has of a level.
struct Part {
  Ranks group, conduit;
  std::string name;
  bool operator==(const Part&) const = default;
};
using Parts = std::vector<std::vector<Part>>;  ///< by rank, then by level

std::ostream& operator<<(std::ostream& out, const Part& part) {
  out << part.name << " group";
  for (const int rank : part.group) out << ' ' << rank;
  out << ", conduit";
  for (const int rank : part.conduit) out << ' ' << rank;
  return out;
}

/// Adds a level: `object` of each rank within its group of the level before.
void expect_level(const World& world, const std::string& name, const std::vector<std::pair<int, int>>& object,
                  Parts& all) {
  const std::size_t level = all.front().size();
  Ranks everybody(all.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  const auto outer_of = [&](int rank) {
    return level == 0 ? everybody : all[static_cast<std::size_t>(rank)][level - 1].group;
  };
  const auto group_of = [&](int rank) {
    const auto own = object[static_cast<std::size_t>(rank)];
    Ranks group;
    for (const int other : outer_of(rank))
      if (own.first >= 0 && object[static_cast<std::size_t>(other)] == own) group.push_back(other);
    return world.in_order(group);
  };
  Parts next = all;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    Ranks conduit;
    for (const int other : outer_of(rank))
      if (const Ranks group = group_of(other); group.empty() || group.front() == other) conduit.push_back(other);
    const bool leads = std::count(conduit.begin(), conduit.end(), rank) > 0;
    next[static_cast<std::size_t>(rank)].push_back({group_of(rank), leads ? world.in_order(conduit) : Ranks{}, name});
  }
  all = next;
}

Parts expected_of_names(const World& world, const std::vector<Width>& levels) {
  Parts all(world.seats.size());
  for (const Width& level : levels) {
    std::vector<std::pair<int, int>> object;
    for (int rank = 0; rank < world.ranks(); ++rank) object.push_back(world.object_of(rank, level.units));
    expect_level(world, level.name, object, all);
  }
  return all;
}

/// The object of each of `ranks` at the outermost level by which they part; none if no level does.
std::vector<std::pair<int, int>> parted(const World& world, const Ranks& ranks) {
  for (const Width& level : world.shape.levels) {
    std::vector<std::pair<int, int>> objects;
    for (const int rank : ranks) objects.push_back(world.object_of(rank, level.units));
    if (std::set(objects.begin(), objects.end()).size() > 1) return objects;
  }
  return std::vector<std::pair<int, int>>(ranks.size(), {-1, -1});
}

Parts expected_of_all(const World& world) {
  Parts all(world.seats.size());
  Ranks everybody(world.seats.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  for (std::size_t level = 0;; ++level) {
    std::vector<std::pair<int, int>> object(world.seats.size(), {-1, -1});
    for (const int rank : everybody) {
      const Ranks outer = level == 0 ? everybody : all[static_cast<std::size_t>(rank)][level - 1].group;
      const auto objects = parted(world, outer);
      for (std::size_t i = 0; i < outer.size(); ++i) object[static_cast<std::size_t>(outer[i])] = objects[i];
    }
    Parts next = all;
    expect_level(world, "", object, next);
    if (std::all_of(next.begin(), next.end(), [](const auto& parts) { return parts.back().group.size() < 2; })) break;
    all = next;
  }
  if (all.front().empty()) expect_level(world, "", std::vector<std::pair<int, int>>(world.seats.size(), {0, 0}), all);
  return all;
}

/// What the library makes. levels: null for all.
Parts made(const World& world, const char* levels, bool with_tutti = true) {
  Machines machines = world.machines();
  machines.with_tutti = with_tutti;
  Parts all(world.seats.size());
  run(machines, [&](int rank) {
    MPI_Info info = MPI_INFO_NULL;
    if (world.leader != Leader::lowest) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "tutti_leader",
                   world.leader == Leader::network ? "network" : std::to_string(world.given).c_str());
    }
    TUTTI_Hierarchy machine;
    EXPECT_EQ(TUTTI_Comm_hierarchy(MPI_COMM_WORLD, levels, info, &machine), MPI_SUCCESS);
    for (int level = 0; level < machine.levels; ++level)
      all[static_cast<std::size_t>(rank)].push_back(
          {members_of(machine.groups[level]), members_of(machine.conduits[level]), machine.names[level]});
    EXPECT_EQ(TUTTI_Comm_hierarchy_free(&machine), MPI_SUCCESS);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  });
  EXPECT_EQ(handles_left(), 0);
  return all;
}

/// What goes from conduit to conduit, and then within the innermost groups, reaches everybody.
void expect_reaches_all(const Parts& all) {
  std::set<int> reached;
  for (const auto& parts : all)
    if (!parts[0].conduit.empty()) reached = {parts[0].conduit.front()};
  const auto hand_on = [&](const Ranks& members) {
    if (!members.empty() && reached.count(members.front())) reached.insert(members.begin(), members.end());
  };
  for (std::size_t level = 0; level < all.front().size(); ++level)
    for (const auto& parts : all) hand_on(parts[level].conduit);
  for (const auto& parts : all) {
    const auto innermost =
        std::find_if(parts.rbegin(), parts.rend(), [](const Part& part) { return !part.group.empty(); });
    if (innermost != parts.rend()) hand_on(innermost->group);
  }
  EXPECT_EQ(reached.size(), all.size());
}

void expect_as_described(const World& world) {
  const std::vector<Width> three(world.shape.levels.begin(), world.shape.levels.begin() + 3);
  const std::vector<Width> two(world.shape.levels.begin() + 1, world.shape.levels.begin() + 3);
  for (const std::vector<Width>& levels : {three, two, world.shape.levels}) {
    std::string names;
    for (const Width& level : levels) names += (names.empty() ? "" : ", ") + level.name;
    const Parts is = made(world, names.c_str());
    EXPECT_EQ(is, expected_of_names(world, levels)) << names;
    expect_reaches_all(is);
  }
  const Parts is = made(world, nullptr);
  EXPECT_EQ(is, expected_of_all(world));
  expect_reaches_all(is);
}

/// seed 0: in the machine's order.
std::vector<Seat> full(const Shape& shape, unsigned seed, int node = 0) {
  std::vector<int> units(static_cast<std::size_t>(shape.units));
  std::iota(units.begin(), units.end(), 0);
  std::mt19937 random(seed);
  if (seed) std::shuffle(units.begin(), units.end(), random);
  std::vector<Seat> seats;
  for (const int unit : units) seats.push_back({node, unit});
  return seats;
}

/// So many ranks on each node, on any of its units, numbered in any order.
std::vector<Seat> uneven(const Shape& shape, const std::vector<int>& ranks_of_nodes, unsigned seed) {
  std::vector<Seat> seats;
  for (std::size_t node = 0; node < ranks_of_nodes.size(); ++node) {
    const std::vector<Seat> all = full(shape, seed + static_cast<unsigned>(node), static_cast<int>(node));
    seats.insert(seats.end(), all.begin(), all.begin() + ranks_of_nodes[node]);
  }
  std::mt19937 random(seed);
  std::shuffle(seats.begin(), seats.end(), random);
  return seats;
}

struct Seating {
  const char* name;
  World world;
};

std::vector<Seating> seatings() {
  std::vector<Seating> all;
  for (const Shape& shape : {two_sockets_of_four, two_sockets, three_sockets}) {
    all.push_back({"ordered", {shape, full(shape, 0)}});
    all.push_back({"shuffled", {shape, full(shape, 1)}});
    all.push_back({"uneven", {shape, uneven(shape, {13}, 2)}});
    all.push_back({"uneven on three nodes", {shape, uneven(shape, {5, 1, 9}, 3)}});
    all.push_back({"one on each of three nodes", {shape, uneven(shape, {1, 1, 1}, 4)}});
    all.push_back({"alone", {shape, uneven(shape, {1}, 5)}});
  }
  return all;
}

TEST(Hierarchies, TheLowestRankLeads) {
  for (const Seating& seating : seatings()) {
    SCOPED_TRACE(seating.world.shape.description + ", " + seating.name);
    expect_as_described(seating.world);
  }
}

TEST(Hierarchies, AGivenRankLeadsAllThatItIsIn) {
  for (Seating& seating : seatings())
    for (const int given : {0, seating.world.ranks() / 2, seating.world.ranks() - 1}) {
      SCOPED_TRACE(seating.world.shape.description + ", " + seating.name + ", " + std::to_string(given));
      seating.world.leader = Leader::given;
      seating.world.given = given;
      expect_as_described(seating.world);
    }
}

TEST(Hierarchies, TheNearestToTheNetworkCardLeads) {
  for (Seating& seating : seatings()) {
    SCOPED_TRACE(seating.world.shape.description + ", " + seating.name);
    seating.world.leader = Leader::network;
    seating.world.card = seating.world.shape.units * 5 / 8;
    expect_as_described(seating.world);
  }
}

TEST(Hierarchies, WhoMayRunInSeveralObjectsStandsForItself) {
  for (Seating& seating : seatings()) {
    SCOPED_TRACE(seating.world.shape.description + ", " + seating.name);
    // Every third rank may also run on the unit beside it, every fifth in another socket.
    for (std::size_t rank = 0; rank < seating.world.seats.size(); ++rank) {
      Seat& seat = seating.world.seats[rank];
      if (rank % 3 == 1) seat.or_unit = seat.unit ^ 1;
      if (rank % 5 == 2) seat.or_unit = (seat.unit + seating.world.shape.units / 2) % seating.world.shape.units;
    }
    expect_as_described(seating.world);
  }
}

TEST(Hierarchies, WithoutTuttiOnlySharedMemoryIsKnown) {
  for (const Seating& seating : seatings()) {
    SCOPED_TRACE(seating.world.shape.description + ", " + seating.name);
    Parts all(seating.world.seats.size());
    std::vector<std::pair<int, int>> node, none(all.size(), {-1, -1});
    for (int rank = 0; rank < seating.world.ranks(); ++rank) node.push_back(seating.world.object_of(rank, 0));
    expect_level(seating.world, "node", node, all);
    expect_level(seating.world, "Package", none, all);
    EXPECT_EQ(made(seating.world, "node,Package", false), all);
    Parts unguided(seating.world.seats.size());
    const std::size_t nodes = std::set(node.begin(), node.end()).size();
    const bool by_node = nodes > 1 && nodes < node.size();
    const std::vector<std::pair<int, int>> together(node.size(), {0, 0});
    expect_level(seating.world, "", by_node ? node : together, unguided);
    EXPECT_EQ(made(seating.world, nullptr, false), unguided);
  }
}

TEST(Hierarchies, DifferentLevelsAreAnErrorOnAllRanks) {
  const World world{two_sockets, full(two_sockets, 0)};
  run(world.machines(), [&](int rank) {
    TUTTI_Hierarchy machine;
    EXPECT_EQ(TUTTI_Comm_hierarchy(MPI_COMM_WORLD, rank == 3 ? "Package" : "node", MPI_INFO_NULL, &machine),
              MPI_ERR_ARG);
    EXPECT_EQ(machine.levels, 0);
  });
  EXPECT_EQ(handles_left(), 0);
}

TEST(Hierarchies, NoCommunicatorIsAnError) {
  const World world{two_sockets, full(two_sockets, 0)};
  run(world.machines(), [&](int) {
    TUTTI_Hierarchy machine;
    EXPECT_EQ(TUTTI_Comm_hierarchy(MPI_COMM_NULL, "node", MPI_INFO_NULL, &machine), MPI_ERR_COMM);
    EXPECT_EQ(machine.levels, 0);
    EXPECT_EQ(TUTTI_Comm_hierarchy(MPI_COMM_WORLD, "node", MPI_INFO_NULL, nullptr), MPI_ERR_ARG);
  });
  EXPECT_EQ(handles_left(), 0);
}

TEST(Hierarchies, NamesThatNoInfoTakesAreAnErrorOnAllRanks) {
  const World world{two_sockets, full(two_sockets, 0)};
  const std::string long_one(MPI_MAX_INFO_VAL, 'x');
  for (const std::string& levels : std::vector<std::string>{"node,", "", "node, ,Core", long_one}) {
    run(world.machines(), [&](int) {
      TUTTI_Hierarchy machine;
      EXPECT_EQ(TUTTI_Comm_hierarchy(MPI_COMM_WORLD, levels.c_str(), MPI_INFO_NULL, &machine), MPI_ERR_ARG) << levels;
      EXPECT_EQ(machine.levels, 0);
    });
  }
  EXPECT_EQ(handles_left(), 0);
}

TEST(Hierarchies, AThousandLeaveNothing) {
  const World world{two_sockets, uneven(two_sockets, {3, 2}, 1)};
  run(world.machines(), [&](int) {
    for (int i = 0; i < 1000; ++i) {
      TUTTI_Hierarchy machine;
      EXPECT_EQ(TUTTI_Comm_hierarchy(MPI_COMM_WORLD, i % 2 ? nullptr : "node,Package,Core", MPI_INFO_NULL, &machine),
                MPI_SUCCESS);
      EXPECT_EQ(TUTTI_Comm_hierarchy_free(&machine), MPI_SUCCESS);
    }
  });
  EXPECT_EQ(handles_left(), 0);
}

}  // namespace
}  // namespace tutti::test
