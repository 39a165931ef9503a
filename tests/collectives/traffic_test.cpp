// What collectives copy between sockets and NUMA nodes does not depend on how the ranks are numbered, but where the
// numbers say what has to be combined with what; nor does what the model predicts. On two nodes that are described: 64
// cores in two sockets of four NUMA nodes each (XHC, Table I, Epyc-2P), and 16 in two sockets (MPC, section 5).
#include "traffic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "topology/mapping.h"

namespace tutti {
namespace {

constexpr std::size_t K = 1024;
const std::vector<std::string> nodes{"package:2 numa:4 core:8 pu:1", "package:2 core:8 pu:1"};

std::vector<std::uint32_t> seeds() {
  const char* sweep = std::getenv("TUTTI_TEST_SWEEP");
  if (sweep && std::string(sweep) == "full") return {1, 2, 3, 4, 5, 6, 7, 8};
  if (sweep && std::string(sweep) == "short") return {1};
  return {1, 2};
}

topology::Placement placed(const std::string& node, const topology::Mapping& mapping) {
  std::string error;
  const auto machine = topology::Machine::load(node, error);
  EXPECT_TRUE(machine) << error;
  return topology::place_by_affinity(*machine, topology::map_ranks(*machine, machine->core_count(), mapping));
}

int socket_of(const topology::Placement& placement, std::size_t rank) {
  return placement.ranks[rank].domain[index_of(topology::LevelKind::socket)];
}

/// How often the next rank is on another socket.
std::uint64_t changes_of_socket(const topology::Placement& placement) {
  std::uint64_t changes = 0;
  for (std::size_t rank = 1; rank < placement.ranks.size(); ++rank)
    if (socket_of(placement, rank) != socket_of(placement, rank - 1)) ++changes;
  return changes;
}

std::string words_of(const ByBoundary& counts) {
  return std::to_string(counts.inter_socket) + ", " + std::to_string(counts.inter_numa) + ", " +
         std::to_string(counts.intra_numa);
}

TEST(Traffic, OfShuffledRanksIsThatOfOrderedOnes) {
  std::vector<TrafficAsked> asked;
  for (const std::size_t bytes : {std::size_t{64}, 4 * K, 16 * K})
    for (const std::string_view collective : counted_collectives())
      if (collective != "scan" && collective != "reduce_scatter") asked.push_back({collective, bytes});
  for (const std::string& node : nodes) {
    const auto ordered = count_traffic(placed(node, topology::Mapping::core), Settings(), asked);
    for (const std::uint32_t seed : seeds()) {
      const auto shuffled = count_traffic(placed(node, topology::Mapping::shuffled(seed)), Settings(), asked);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const std::string where = node + " shuffled by " + std::to_string(seed) + " " +
                                  std::string(asked[i].collective) + " of " + std::to_string(asked[i].bytes) + " by " +
                                  ordered[i].algorithm;
        EXPECT_EQ(ordered[i].algorithm, shuffled[i].algorithm) << where;
        EXPECT_EQ(words_of(ordered[i].messages), words_of(shuffled[i].messages)) << where;
        EXPECT_EQ(words_of(ordered[i].bytes), words_of(shuffled[i].bytes)) << where;
        EXPECT_GT(ordered[i].messages.inter_socket, 0u) << where;
      }
    }
  }
}

/// Every algorithm that a user may ask for by name, where the numbers say nothing about the result.
TEST(Traffic, OfEveryAlgorithmIsTheSame) {
  std::vector<TrafficAsked> asked;
  for (const auto& known : known_algorithms())
    for (const std::string_view collective : counted_collectives())
      if (collective == known.collective && collective != "scan" && collective != "reduce_scatter")
        for (const auto& algorithm : known.algorithms)
          asked.push_back({collective, 4 * K, 0, true, std::string(collective) + ":" + std::string(algorithm)});
  ASSERT_GT(asked.size(), 40u);
  const std::string& node = nodes.back();
  Settings settings;
  settings.flat_max = 64;
  const auto ordered = count_traffic(placed(node, topology::Mapping::core), settings, asked);
  const auto shuffled = count_traffic(placed(node, topology::Mapping::shuffled(3)), settings, asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(words_of(ordered[i].messages), words_of(shuffled[i].messages)) << asked[i].algorithm;
    EXPECT_EQ(words_of(ordered[i].bytes), words_of(shuffled[i].bytes)) << asked[i].algorithm;
  }
}

/// Ranks that follow one another on one socket are combined there. What they make is all that crosses: their number is
/// how often the next rank is on another socket, and one more.
TEST(Traffic, OfOperatorsThatDoNotCommuteIsWhatMustCross) {
  const std::size_t bytes = 16 * K;
  const std::vector<TrafficAsked> asked{{"reduce", bytes, 0, false, "reduce:xhc"},
                                        {"allreduce", bytes, 0, false, "allreduce:xhc"},
                                        {"reduce", bytes, 0, true, "reduce:xhc"},
                                        {"allreduce", bytes, 0, true, "allreduce:xhc"}};
  for (const std::string& node : nodes) {
    const auto ordered = count_traffic(placed(node, topology::Mapping::core), Settings(), asked);
    // In the machine's order it is what operators take that commute.
    for (const std::size_t i : {0u, 1u}) {
      EXPECT_EQ(words_of(ordered[i].messages), words_of(ordered[i + 2].messages)) << node;
      EXPECT_EQ(words_of(ordered[i].bytes), words_of(ordered[i + 2].bytes)) << node;
    }
    for (const std::uint32_t seed : seeds()) {
      const auto placement = placed(node, topology::Mapping::shuffled(seed));
      const auto shuffled = count_traffic(placement, Settings(), asked);
      const double runs = 1.0 + static_cast<double>(changes_of_socket(placement));
      // Half of what the runs have made is on the other socket than who combines it, and so is half of the result. Where
      // so many meet in the top level that they are cut into groups, these hand on what they have made as well. To gather
      // everything at the root, half of all ranks would send theirs.
      const double reduced = static_cast<double>(shuffled[0].bytes.inter_socket) / static_cast<double>(bytes);
      EXPECT_LE(reduced, (runs > topology::usual_widest ? 4.0 / 3 : 1.0) * runs / 2 + 2) << node << " " << seed;
      EXPECT_LT(reduced, static_cast<double>(placement.ranks.size()) / 2) << node << " " << seed;
    }
  }
}

/// What is before a rank changes with every contribution of the other socket: so many times n bytes have to cross.
TEST(Traffic, OfAScanAlongTheChainIsWhatMustCross) {
  const std::size_t bytes = 40 * K;
  const std::vector<TrafficAsked> asked{{"scan", bytes, 0, false, "scan:chain"}};
  for (const std::string& node : nodes) {
    for (const std::uint32_t seed : seeds()) {
      const auto placement = placed(node, topology::Mapping::shuffled(seed));
      const auto counted = count_traffic(placement, Settings(), asked);
      EXPECT_EQ(counted[0].algorithm, "chain");
      EXPECT_EQ(counted[0].messages.inter_socket, changes_of_socket(placement));
      EXPECT_EQ(counted[0].bytes.inter_socket, bytes * changes_of_socket(placement));
    }
    const auto ordered = count_traffic(placed(node, topology::Mapping::core), Settings(), asked);
    EXPECT_EQ(ordered[0].messages.inter_socket, 1u);
  }
}

/// Seconds of the algorithm that is chosen, by the shipped parameters.
double predicted(const std::string& node, const topology::Mapping& mapping, const std::string& mechanism,
                 std::string_view collective, std::size_t bytes, bool commutative) {
  const topology::Placement placement = placed(node, mapping);
  const topology::Levels levels = topology::choose_levels({true, {}, 0}, placement);
  const auto ranks = static_cast<int>(placement.ranks.size());
  Surroundings surroundings =
      surroundings_of(Settings(), ranks, static_cast<int>(topology::build(placement, levels, 0).levels.size()), 1,
                      topology::distances(placement, levels));
  surroundings.window = mechanism == "window";
  surroundings.cma = mechanism == "cma";
  const selection::Shape shape = call_shape(surroundings, bytes, !is_irregular(collective), commutative);
  return *predict(collective, shape, {selection::UserChoice(), {}})->seconds;
}

TEST(Traffic, PredictionsForShuffledRanksAreThoseForOrderedOnes) {
  for (const std::string& node : nodes)
    for (const char* mechanism : {"window", "cma", "staged"})
      for (const std::string_view collective : counted_collectives())
        for (std::size_t bytes = 1; bytes <= 4 * K * K; bytes *= 4)
          for (const std::uint32_t seed : {1u, 2u, 3u}) {
            const double ordered = predicted(node, topology::Mapping::core, mechanism, collective, bytes, true);
            const double shuffled =
                predicted(node, topology::Mapping::shuffled(seed), mechanism, collective, bytes, true);
            // A scan keeps the order of the ranks: what goes along the machine's levels costs more where they are shuffled.
            EXPECT_NEAR(shuffled / ordered, 1, collective == "scan" || collective == "exscan" ? 0.25 : 0.1)
                << node << " " << mechanism << " " << collective << " of " << bytes << " shuffled by " << seed;
          }
}

}  // namespace
}  // namespace tutti
