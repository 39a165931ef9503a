// Neighbor_allgather(v) and Neighbor_alltoall(v,w).
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Neighbor_allgather(v) and Neighbor_alltoall(v,w). A rank may occur several times among its neighbours, and be one
/// itself. A negative rank is a null process: nothing is sent there, and its block of `receive` is left alone.
struct NeighborArguments {
  const int* sources = nullptr;  ///< ranks this one receives from; blocks of `receive` in this order
  /// Which of the blocks that a source sends is ours, for each of `sources`. MPI 4.1, section 8.6: in a Cartesian
  /// topology the one for the opposite direction, in a graph the k-th to us for the k-th from there.
  const int* source_blocks = nullptr;
  int source_count = 0;
  const int* destinations = nullptr;  ///< ranks this one sends to; blocks of `send` in this order
  /// Which of the blocks that a destination receives is the one from here, for each of `destinations`: the inverse.
  const int* destination_blocks = nullptr;
  int destination_count = 0;
  Blocks send;  ///< with stride 0 where all get the same block
  Blocks receive;
  bool regular =
      true;  ///< Neighbor_allgather and Neighbor_alltoall; then `bytes`, of each block, is equal on all ranks
  std::size_t bytes = 0;
  memory::Store store = memory::Store::cached;
  int parameter = 0;
  Spreads received = {};
};

template <>
struct Kind<NeighborArguments> : AnyKind {
  /// Of Neighbor_allgather and Neighbor_alltoall two neighbours agree, but what one sends need not be what it receives.
  static constexpr SizesDiffer sizes_differ = SizesDiffer::always;

  static bool is_second(const NeighborArguments& arguments) { return !arguments.regular; }
  /// They agree on their own sizes only.
  static std::size_t announced(std::size_t) { return 0; }
  static CallKey key(const NeighborArguments&, int) { return {irregular_block_bytes}; }
  static CallSizes sizes(const NeighborArguments& arguments, const SizeLimits& limits) {
    // One operation, also of nothing or of blocks that have to be staged whole: ranks that are no neighbours may have
    // other sizes, but all count the same operations.
    const auto destinations = static_cast<std::size_t>(std::max(1, arguments.destination_count));
    const std::size_t block =
        arguments.regular ? arguments.bytes : arguments.send.total_bytes(arguments.destination_count) / destinations;
    return limits.whole(block, arguments.receive.total_bytes(arguments.source_count));
  }
  static NeighborArguments part(NeighborArguments arguments, topology::Range) { return arguments; }
};

}  // namespace tutti
