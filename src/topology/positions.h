// Which processing units a rank may run on. Pure.
#pragma once

#include <vector>

#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace tutti::topology {

/// Where the units of a mask are in Machine::units(); an empty mask stands for all units.
std::vector<int> positions_in(const Machine& machine, const CpuSet& mask);

/// Joins what two units a rank may run on have in common: the domain if it is the same, else none.
constexpr int common(int a, int b) {
  return a == b ? a : -1;
}

}  // namespace tutti::topology
