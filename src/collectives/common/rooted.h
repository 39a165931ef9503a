// What the algorithms of Scatter and Gather have in common: ranks counted from the root, and the root's own block.
#pragma once

#include <algorithm>
#include <cstring>

#include "collectives/arguments.h"
#include "engine/communicator.h"

namespace tutti {

/// The rank that comes `distance` after the root, round the end; the root itself is at 0.
constexpr int rank_at(int root, int distance, int ranks) {
  return (root + distance) % ranks;
}
constexpr int distance_of(int rank, int root, int ranks) {
  return (rank - root + ranks) % ranks;
}

inline void copy_own(std::byte* destination, const std::byte* source, std::size_t bytes, memory::Store store) {
  if (store == memory::Store::streaming)
    memory::stream_copy(destination, source, bytes);
  else
    std::memcpy(destination, source, bytes);
}

/// The root's own block, unless it is in place.
inline void keep_own_block(const Communicator& communicator, const ScatterArguments& arguments) {
  const auto own = static_cast<std::size_t>(communicator.rank());
  if (const std::size_t bytes = std::min(arguments.bytes, arguments.send.size(own)); arguments.receive && bytes)
    copy_own(arguments.receive, arguments.send.at(own), bytes, arguments.store);
}
inline void keep_own_block(const Communicator& communicator, const GatherArguments& arguments) {
  const auto own = static_cast<std::size_t>(communicator.rank());
  if (const std::size_t bytes = std::min(arguments.bytes, arguments.receive.size(own)); arguments.send && bytes)
    copy_own(arguments.receive.at(own), arguments.send, bytes, arguments.store);
}

/// Where the part of every block begins that the root copies in the cooperative algorithms: on a page. The root has as
/// much time as the others need for the rest, less what its own block takes if it has to be copied.
inline std::size_t root_part_begins(std::size_t bytes, int ranks, bool copies_own) {
  const std::size_t part = bytes / static_cast<std::size_t>(copies_own ? 2 * ranks : ranks);
  return (bytes - part) & ~(grain_bytes - 1);
}

}  // namespace tutti
