// Ranks of a domain meet in pairs, in two turns: each the next one and the one before.
#pragma once

#include "topology/level.h"
#include "topology/placement.h"

namespace tutti::topology {

/// The rank of its domain that `rank` meets in turn 0 or 1, who meets it then; -1: nobody, or it is in no such domain.
inline int met_in_turn(const Placement& placement, LevelKind kind, int rank, int turn) {
  const auto domain_of = [&](int other) {
    return placement.ranks[static_cast<std::size_t>(other)].domain[index_of(kind)];
  };
  if (domain_of(rank) < 0) return -1;
  int place = 0, before = -1, after = -1;
  for (int other = 0; other < static_cast<int>(placement.ranks.size()); ++other) {
    if (other == rank || domain_of(other) != domain_of(rank)) continue;
    if (other < rank)
      before = other, ++place;
    else if (after < 0)
      after = other;
  }
  return place % 2 == turn ? after : before;
}

}  // namespace tutti::topology
