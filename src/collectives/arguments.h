// The arguments of the collectives as the core sees them: contiguous bytes, roots and counts that MPI guarantees to be
// equal on all ranks, operators as functions.
//
// `store` and `parameter` are set by Collectives: how large results are stored, and the k or j of algorithms that have
// one (k readers at a time, ring-neighbor-j), as the user or the model says; it is never 0 there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/stream.h"
#include "reduction/reduction.h"
#include "topology/partition.h"

namespace tutti {

struct BarrierArguments {};

struct BcastArguments {
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  int root = 0;
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

/// Blocks of one buffer, one for each rank (or neighbour): block i has size(i) bytes at offset(i) from `base`.
/// Regular ones are equal in size and distance; MPI makes that size equal on all ranks.
struct Blocks {
  std::byte* base = nullptr;
  std::size_t bytes = 0;                    ///< of each block
  std::size_t stride = 0;                   ///< from one block to the next; 0: all are the same bytes, to be read only
  const std::size_t* sizes = nullptr;       ///< if given, the blocks are irregular
  const std::ptrdiff_t* offsets = nullptr;  ///< given with `sizes`

  static Blocks regular(const std::byte* base, std::size_t bytes) {
    return {const_cast<std::byte*>(base), bytes, bytes, nullptr, nullptr};
  }
  static Blocks irregular(const std::byte* base, const std::size_t* sizes, const std::ptrdiff_t* offsets) {
    return {const_cast<std::byte*>(base), 0, 0, sizes, offsets};
  }
  bool is_regular() const { return sizes == nullptr; }
  std::size_t size(std::size_t i) const { return sizes ? sizes[i] : bytes; }
  std::ptrdiff_t offset(std::size_t i) const { return offsets ? offsets[i] : static_cast<std::ptrdiff_t>(i * stride); }
  std::byte* at(std::size_t i) const { return base + offset(i); }
};

/// Scatter and Scatterv. Each rank knows the size of its own block, the root all of them.
struct ScatterArguments {
  Blocks send;                   ///< on the root; ignored elsewhere
  std::byte* receive = nullptr;  ///< null on a root in place: its block stays where it is
  std::size_t bytes = 0;         ///< of this rank's own block
  int root = 0;
  bool regular = true;  ///< Scatter; then `bytes` is equal on all ranks
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

/// Gather and Gatherv.
struct GatherArguments {
  const std::byte* send = nullptr;  ///< null on a root in place: its block is where it belongs
  std::size_t bytes = 0;            ///< of this rank's own block
  Blocks receive;                   ///< on the root; ignored elsewhere
  int root = 0;
  bool regular = true;  ///< Gather; then `bytes` is equal on all ranks
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

/// Allgather and Allgatherv: every rank knows all sizes, so both are of this one kind.
struct AllgatherArguments {
  const std::byte* send = nullptr;  ///< null in place: the own block is where it belongs
  std::size_t bytes = 0;            ///< of this rank's own block
  Blocks receive;
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

/// Alltoall, Alltoallv and Alltoallw. Sizes are known to sender and receiver of each block. The buffers do not overlap:
/// calls in place are given a copy to send from.
struct AlltoallArguments {
  Blocks send;
  Blocks receive;
  bool regular = true;  ///< Alltoall
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

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
};

/// How elements are combined. A kernel where there is one, otherwise a function with a context (a user's operator).
struct Combiner {
  /// destination = ((sources[0] op sources[1]) op sources[2]) op ..., strictly in this order as a kernel does it, so
  /// that algorithms that combine all at once and those that go from prefix to prefix give the same bits. `destination`
  /// may be one of the sources.
  using Function = void (*)(void* context, void* destination, const void* const* sources, std::size_t source_count,
                            std::size_t element_count);
  std::size_t element_bytes = 1;
  bool commutative = true;
  reduction::Kernel kernel = nullptr;
  Function function = nullptr;
  void* context = nullptr;

  void operator()(void* destination, const void* const* sources, std::size_t source_count,
                  std::size_t element_count) const {
    if (kernel)
      kernel(destination, sources, source_count, element_count);
    else
      function(context, destination, sources, source_count, element_count);
  }
};

/// In place: send == receive.
struct ReduceArguments {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;  ///< on the root only; ignored elsewhere
  std::size_t count = 0;
  const Combiner* combiner = nullptr;
  int root = 0;
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

struct AllreduceArguments {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::size_t count = 0;
  const Combiner* combiner = nullptr;
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

/// Reduce_scatter and Reduce_scatter_block: of the combined elements, rank i gets counts[i], in rank order. All ranks
/// know all counts.
struct ReduceScatterArguments {
  const std::byte* send = nullptr;  ///< all elements
  std::byte* receive = nullptr;     ///< counts[rank] elements; in place it is `send`, whose beginning gets the result
  const std::size_t* counts = nullptr;
  std::size_t count = 0;  ///< the sum of all
  const Combiner* combiner = nullptr;
  topology::Range piece = {};  ///< of a long message, what this operation carries; set by Collectives (Algorithm::cut)
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

/// Scan and Exscan. In place: send == receive.
struct ScanArguments {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;  ///< Exscan leaves it alone on rank 0
  std::size_t count = 0;
  const Combiner* combiner = nullptr;
  bool exclusive = false;  ///< Exscan
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

}  // namespace tutti
