// The ranks in the order of the machine: those next to each other in it sit near each other, however they are numbered.
// Pure.
#pragma once

#include <vector>

#include "topology/hierarchy.h"

namespace tutti::topology {

/// Who is where in that order, and the other way round.
struct MachineOrder {
  std::vector<int> ranks;   ///< by place
  std::vector<int> places;  ///< by rank

  int size() const { return static_cast<int>(ranks.size()); }
  int rank(int place) const { return ranks[static_cast<std::size_t>(place)]; }
  int place(int rank) const { return places[static_cast<std::size_t>(rank)]; }
  /// The rank so many places after (before, if negative) the place, round the end. |distance| <= ranks
  int rank_after(int place, int distance) const { return rank((place + distance + size()) % size()); }

  friend bool operator==(const MachineOrder&, const MachineOrder&) = default;
};

/// The members of each group of the hierarchy are next to each other, whose leader comes first: the root is at place 0.
/// Where ranks are numbered along the machine and rank 0 is the root, it is the order of ranks.
MachineOrder machine_order(const Hierarchy& hierarchy);

/// By all levels of the machine, whatever the settings make of them.
MachineOrder machine_order(const Placement& placement, int root);

}  // namespace tutti::topology
