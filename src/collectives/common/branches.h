// Hierarchical Scatter and Gather: what a rank handles for all that are reached through it (topology::Branch), in rank
// order, so that whole runs of neighbours are copied at once and nobody sorts.
#pragma once

#include <cmath>
#include <vector>

#include "collectives/common/exposure.h"
#include "selection/algorithm.h"

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

/// Memory of this rank that peers load from: the operation's data area if `bytes` fit, else the staging buffer.
inline Exposure lend(Operation& operation, std::size_t bytes) {
  Communicator& communicator = operation.communicator();
  if (bytes <= communicator.slot_bytes())
    return {communicator.slot_region(operation.sequence()),
            communicator.slot_data(communicator.rank(), operation.sequence()), true, true};
  std::byte* staging = communicator.staging(static_cast<int>(Side::source), bytes);
  return {communicator.arena_region(staging), staging, true, false};
}

/// Per level a leader handles the blocks of all below it; with equal groups that is a p-th part of the ranks to the
/// power of how many levels are left.
inline selection::Cost hierarchical_cost(const selection::Shape& shape) {
  const auto bytes = static_cast<double>(shape.bytes);
  const double ranks = shape.ranks;
  const double fan = std::pow(ranks, 1.0 / shape.levels);
  double blocks = 1;
  for (double below = ranks / fan; below > 1.5; below /= fan) blocks += below;
  return {.hops = (1.0 + 0.1 * fan) * shape.levels,
          .rounds = static_cast<double>(shape.levels),
          .copied_bytes = bytes * std::min(ranks, static_cast<double>(shape.slot_bytes) / std::max(1.0, bytes)),
          .remote_bytes = bytes * blocks,
          .slot_bytes = shape.reach == selection::Reach::staged ? bytes * ranks : 0.0,
          .exposures = static_cast<double>(shape.levels),
          .startups = blocks};
}

}  // namespace tutti
