// Reduce_scatter and Reduce_scatter_block.
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Reduce_scatter and Reduce_scatter_block: of the combined elements, rank i gets counts[i], in rank order. All ranks
/// know all counts.
struct ReduceScatterArguments {
  const std::byte* send = nullptr;  ///< all elements
  std::byte* receive = nullptr;     ///< counts[rank] elements; in place it is `send`, whose beginning gets the result
  const std::size_t* counts = nullptr;
  std::size_t count = 0;  ///< the sum of all
  const Combiner* combiner = nullptr;
  topology::Range piece = {};  ///< of a long message, what this operation carries; set by Collectives (Forms::cut)
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

template <>
struct Kind<ReduceScatterArguments> : ReductionKind<ReduceScatterArguments> {
  static constexpr bool makes_results = false;
  static constexpr bool parts_one = true;

  static double buffers(double ranks) { return 1 + 1 / ranks; }
  static CallSizes sizes(const ReduceScatterArguments& arguments, const SizeLimits& limits) {
    // Each algorithm cuts it in its own way.
    return limits.whole(arguments.bytes(), arguments.bytes());
  }
  static ReduceScatterArguments part(ReduceScatterArguments arguments, topology::Range piece) {
    arguments.piece = piece;
    return arguments;
  }
};

}  // namespace tutti
