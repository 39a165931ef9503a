// Machines that are described in tutti/sim/machines, and what the model predicts on them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "selection/machine.h"
#include "topology/mapping.h"

namespace tutti {

/// One of tutti/sim/machines, with a rank on each core or hardware thread, as its file says, or several.
struct Described {
  selection::Model model;
  Surroundings surroundings;
  double sockets = 1;

  int ranks() const { return surroundings.common.ranks; }
  double others() const { return ranks() - 1.0; }
  double cores() const { return ranks() / surroundings.common.ranks_per_core; }
};

/// How ranks share a machine's cores, and which of its levels group them.
inline Surroundings surroundings_on(const topology::Machine& machine, int ranks, const topology::LevelSpec& spec) {
  std::string error;
  const auto mapping = topology::parse_mapping("core", error);
  const auto placement = topology::place_by_affinity(machine, topology::map_ranks(machine, ranks, *mapping));
  const auto levels = topology::choose_levels(spec, placement);
  const auto hierarchy = topology::build(placement, levels, 0);
  return surroundings_of(Settings(), ranks, static_cast<int>(hierarchy.levels.size()),
                         ranks_per_core_of(placement, ranks, placement.oversubscribed()),
                         topology::distances(placement, levels));
}

/// The file of one machine.
inline nlohmann::json read_machine(const std::string& name) {
  std::ifstream file(std::string(TUTTI_TEST_MACHINES) + "/" + name + ".json");
  return nlohmann::json::parse(file);
}

inline Described machine_of(const std::string& name, int on_each = 1, const topology::LevelSpec& spec = {true, {}, 0}) {
  const nlohmann::json file = read_machine(name);
  std::string error;
  const auto probe = selection::parse_probe(file.dump(), error);
  EXPECT_TRUE(probe) << name << ": " << error;
  const auto& about = file["machine"];
  const auto machine = topology::Machine::load(about["description"].get<std::string>(), error);
  EXPECT_TRUE(machine) << name << ": " << error;
  const int ranks = on_each * about["ranks"].get<int>();
  EXPECT_EQ(machine->core_count(), probe->machine.cores) << name;
  return {probe->model, surroundings_on(*machine, ranks, spec),
          static_cast<double>(machine->domain_count(topology::LevelKind::socket))};
}

inline Surroundings with_mechanism(Surroundings surroundings, const std::string& name) {
  surroundings.window = name == "window";
  surroundings.xpmem = name == "xpmem";
  surroundings.cma = name == "cma";
  return surroundings;
}

struct Asked {
  std::string collective;
  selection::Shape shape;
  Predictions told;
};

/// flat: algorithms for few ranks are asked as well.
inline Asked ask(const Described& machine, const std::string& mechanism, const std::string& collective,
                 std::size_t bytes, bool flat = false) {
  Surroundings surroundings = with_mechanism(machine.surroundings, mechanism);
  if (flat) surroundings.common.flat_max = static_cast<std::size_t>(machine.ranks());
  const selection::Shape shape = call_shape(surroundings, bytes, !is_irregular(collective), true);
  selection::Knowledge knowledge;
  knowledge.model = machine.model;
  return {collective, shape, *predict(collective, shape, knowledge)};
}

}  // namespace tutti
