// Reduce.
#pragma once

#include "collectives/kind.h"

namespace tutti {

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

template <>
struct Kind<ReduceArguments> : ReductionKind<ReduceArguments> {};

}  // namespace tutti
