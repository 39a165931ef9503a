// What the choice makes of how far apart ranks are, on machines that are only described.
#include "topology/distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/prediction.h"
#include "topology/mapping.h"

namespace tutti {
namespace {

constexpr const char* two_sockets = "package:2 numa:8 core:10 pu:1";

/// Of a communicator with a rank a core.
Surroundings surroundings_on(const std::string& description, int ranks) {
  std::string error;
  const auto machine = topology::Machine::load(description, error);
  EXPECT_TRUE(machine) << error;
  const auto mapping = topology::parse_mapping("core", error);
  const auto placement = topology::place_by_affinity(*machine, topology::map_ranks(*machine, ranks, *mapping));
  const auto levels = topology::choose_levels({true, {}}, placement);
  const auto hierarchy = topology::build(placement, levels, 0);
  Surroundings surroundings = surroundings_of(Settings(), ranks, static_cast<int>(hierarchy.levels.size()), 1,
                                              topology::distances(placement, levels));
  surroundings.window = true;
  return surroundings;
}

double seconds_of(const std::string& algorithm, const char* collective, const selection::Shape& shape,
                  const selection::Model& model) {
  const auto told = predict(collective, shape, {selection::UserChoice(), model});
  double best = -1;
  for (const Prediction& each : told->candidates)
    if (each.algorithm == algorithm && each.seconds && (best < 0 || *each.seconds < best)) best = *each.seconds;
  EXPECT_GE(best, 0) << collective << " by " << algorithm;
  return best;
}

/// Of a machine that gives many at once as much as each alone: what these get together is no farther for anybody.
selection::Model without_ceilings() {
  selection::Model model;
  model.rank_byte = model.node_byte = model.link_byte = model.total_byte = 0;
  return model;
}

/// How many times as long it takes as if all ranks were near each other.
double growth_of(const std::string& algorithm, const char* collective, std::size_t bytes) {
  Surroundings surroundings = surroundings_on(two_sockets, 160);
  surroundings.common.flat_max = 160;
  const auto shape = call_shape(surroundings, bytes, true, true);
  selection::Model level = without_ceilings();
  for (double selection::Model::*factor :
       {&selection::Model::hop_numa, &selection::Model::hop_socket, &selection::Model::hop_machine,
        &selection::Model::byte_numa, &selection::Model::byte_socket, &selection::Model::byte_machine,
        &selection::Model::store_numa, &selection::Model::store_socket, &selection::Model::store_machine,
        &selection::Model::memory_socket, &selection::Model::memory_machine})
    level.*factor = 1;
  const double near = seconds_of(algorithm, collective, shape, level);
  return seconds_of(algorithm, collective, shape, without_ceilings()) / near;
}

TEST(Distance, MakesFlatAlgorithmsDearerThanHierarchicalOnes) {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    EXPECT_GT(growth_of("xhc", "bcast", bytes), 1.1);
    EXPECT_GT(growth_of("direct-read", "bcast", bytes), 1.1 * growth_of("xhc", "bcast", bytes)) << bytes;
  }
  // What one rank gives to all at once is less than what these could fetch.
  Surroundings surroundings = surroundings_on(two_sockets, 160);
  surroundings.common.flat_max = 160;
  const auto shape = call_shape(surroundings, 1 << 20, true, true);
  EXPECT_GT(seconds_of("direct-read", "bcast", shape, {}), 2 * seconds_of("xhc", "bcast", shape, {}));
  EXPECT_GT(growth_of("flat", "barrier", 0), 1.1 * growth_of("tree", "barrier", 0));
}

TEST(Distance, OfAMeanOfAllPairsIsLessThanTheFarthest) {
  EXPECT_GT(growth_of("direct", "alltoall", 1 << 20), 1.1);
  EXPECT_LT(growth_of("direct", "alltoall", 1 << 20), selection::Model().byte_machine);
}

TEST(Distance, LeavesEverythingAsItWasWhereOneCacheServesAll) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    const Surroundings surroundings = surroundings_on("package:1 numa:1 l3:1 core:8 pu:1", ranks);
    Surroundings unknown = surroundings_of(Settings(), ranks, surroundings.common.levels, 1);
    unknown.window = true;
    selection::Model farther;
    farther.hop_numa = farther.hop_socket = farther.hop_machine = 100;
    farther.byte_numa = farther.byte_socket = farther.byte_machine = 100;
    farther.store_numa = farther.store_socket = farther.store_machine = 100;
    for (const auto& entry : known_algorithms())
      for (std::size_t bytes = 4; bytes <= std::size_t{4} << 20; bytes *= 2) {
        const auto here = predict(entry.collective, call_shape(surroundings, bytes, true, true), {{}, farther});
        const auto before = predict(entry.collective, call_shape(unknown, bytes, true, true), {});
        EXPECT_EQ(here->algorithm, before->algorithm) << entry.collective << " " << bytes;
        EXPECT_EQ(here->seconds, before->seconds) << entry.collective << " " << bytes;
      }
  }
}

}  // namespace
}  // namespace tutti
