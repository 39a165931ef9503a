// Allreduce.
#pragma once

#include "collectives/kind.h"

namespace tutti {

struct AllreduceArguments {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::size_t count = 0;
  const Combiner* combiner = nullptr;
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  std::size_t bytes() const { return count * combiner->element_bytes; }
};

template <>
struct Kind<AllreduceArguments> : ReductionKind<AllreduceArguments> {};

}  // namespace tutti
