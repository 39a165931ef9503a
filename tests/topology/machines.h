// Machines and placements that several tests use.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "topology/placement.h"

namespace tutti::topology::testing {

/// The machine of XHC's table II: 2 sockets of 4 NUMA nodes of 8 cores.
inline constexpr const char* two_socket_machine = "package:2 numa:4 core:8 pu:1";

inline Machine machine_of(const std::string& description) {
  std::string error;
  const auto machine = Machine::load(description, error);
  if (!machine) {
    ADD_FAILURE() << error;
    return {};
  }
  return *machine;
}

/// Rank i bound to the unit with OS index units[i].
inline std::vector<CpuSet> bound_to(const std::vector<int>& units) {
  std::vector<CpuSet> masks;
  for (const int unit : units) masks.push_back(CpuSet{unit});
  return masks;
}

inline std::vector<int> sequence(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

inline std::vector<int> shuffled(int count, unsigned seed) {
  std::vector<int> numbers = sequence(count);
  std::mt19937 random(seed);
  std::shuffle(numbers.begin(), numbers.end(), random);
  return numbers;
}

/// Consecutive ranks on different NUMA nodes, as mpirun --map-by numa does.
inline std::vector<int> round_robin(int domains, int units_per_domain) {
  std::vector<int> units;
  for (int i = 0; i < units_per_domain; ++i)
    for (int domain = 0; domain < domains; ++domain) units.push_back(domain * units_per_domain + i);
  return units;
}

/// All units of `machine` that lie in one domain.
inline CpuSet units_in(const Machine& machine, LevelKind kind, int domain) {
  CpuSet set;
  for (const ProcessingUnit& unit : machine.units())
    if (unit.domain[index_of(kind)] == domain) set.insert(unit.os_index);
  return set;
}

}  // namespace tutti::topology::testing
