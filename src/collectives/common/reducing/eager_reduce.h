// The shared half of the eager Reduce and Allreduce: all read all (or the root reads all), in rank order.
#pragma once

#include "collectives/arguments.h"
#include "collectives/common/eager.h"

namespace tutti::eager {

/// Combines what every rank sent, in rank order, into `destination`, which may be `own` (this rank's contribution).
inline void combine_all(Communicator& communicator, std::uint64_t sequence, const std::byte* own,
                        std::byte* destination, std::size_t count, const Combiner& combiner, const char* collective) {
  const std::size_t bytes = count * combiner.element_bytes;
  const void** sources = communicator.sources();
  for (int rank = 0; rank < communicator.size(); ++rank)
    sources[rank] = rank == communicator.rank() ? own : receive(communicator, sequence, rank, bytes, bytes, collective);
  communicator.seen_all(sequence);
  combiner(destination, sources, static_cast<std::size_t>(communicator.size()), count);
}

}  // namespace tutti::eager
