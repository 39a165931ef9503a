// Which elements belong to which rank after a Reduce_scatter. Pure.
#pragma once

#include <algorithm>

#include "topology/partition.h"

namespace tutti::topology {

/// The elements that `rank` gets: counts[rank] of them, behind those of the ranks before it.
inline Range owned_range(const std::size_t* counts, int rank) {
  Range range;
  for (int i = 0; i < rank; ++i) range.begin += counts[i];
  range.end = range.begin + counts[rank];
  return range;
}

constexpr Range overlap(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace tutti::topology
