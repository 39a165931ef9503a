// Hierarchical Scatter and Gather: what a rank handles for all that are reached through it (topology::Branch), in rank
// order, so that whole runs of neighbours are copied at once and nobody sorts.
#pragma once

#include <vector>

#include "collectives/algorithm.h"

namespace tutti {

/// Calls copy(first, count) for each run of entries [begin, end) whose places follow one another. `joined`: blocks
/// at neighbouring places touch; otherwise each is a run of its own.
template <class Copy>
void for_each_run(const std::vector<int>& places, std::size_t begin, std::size_t end, bool joined, Copy&& copy) {
  while (begin < end) {
    std::size_t next = begin + 1;
    while (joined && next < end && places[next] == places[next - 1] + 1) ++next;
    copy(begin, next - begin);
    begin = next;
  }
}

/// Hops up or down the hierarchy; `look`: for the two lines, of flag and block, of each further member of a group.
inline double hierarchical_hops(const selection::Shape& shape, double look) {
  return 1.6 * shape.levels + 2 * look * selection::further_children(shape);
}

}  // namespace tutti
