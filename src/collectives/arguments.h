// The arguments of the collectives as the core sees them: contiguous bytes, roots and counts that MPI guarantees to be
// equal on all ranks, operators as functions.
#pragma once

#include <cstddef>

#include "memory/stream.h"
#include "reduction/reduction.h"

namespace tutti {

struct BarrierArguments {};

struct BcastArguments {
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  int root = 0;
  memory::Store store = memory::Store::cached;  ///< set by Collectives from the size of the whole message
};

/// How elements are combined. A kernel where there is one, otherwise a function with a context (a user's operator).
struct Combiner {
  /// destination = sources[0] op sources[1] op ..., any association, in this order; `destination` may be one of them.
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

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

struct AllreduceArguments {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::size_t count = 0;
  const Combiner* combiner = nullptr;
  memory::Store store = memory::Store::cached;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

}  // namespace tutti
