// What the algorithms of Scatter and Gather have in common: ranks counted from the root, and the root's own block.
#pragma once

#include <algorithm>

#include "collectives/arguments.h"
#include "collectives/common/buffers/own_block.h"
#include "engine/operation.h"

namespace tutti {

/// The rank that comes `distance` after the root, round the end; the root itself is at 0.
constexpr int rank_at(int root, int distance, int ranks) {
  return (root + distance) % ranks;
}
constexpr int distance_of(int rank, int root, int ranks) {
  return (rank - root + ranks) % ranks;
}

/// The root's own block, unless it is in place.
inline void keep_own_block(const Communicator& communicator, const ScatterArguments& arguments) {
  const auto own = static_cast<std::size_t>(communicator.rank());
  if (const std::size_t bytes = std::min(arguments.bytes, arguments.send.size(own)); arguments.receive && bytes)
    copy_own_block(arguments.receive, arguments.send.at(own), bytes, arguments.store);
}
inline void keep_own_block(const Communicator& communicator, const GatherArguments& arguments) {
  const auto own = static_cast<std::size_t>(communicator.rank());
  if (const std::size_t bytes = std::min(arguments.bytes, arguments.receive.size(own)); arguments.send && bytes)
    copy_own_block(arguments.receive.at(own), arguments.send, bytes, arguments.store);
}

}  // namespace tutti
