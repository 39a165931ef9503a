// Barrier.
#pragma once

#include "collectives/kind.h"

namespace tutti {

struct BarrierArguments {};

template <>
struct Kind<BarrierArguments> : AnyKind {
  static CallKey key(const BarrierArguments&, int) { return {}; }
  static CallSizes sizes(const BarrierArguments&, const SizeLimits&) { return {.small = true}; }
  static BarrierArguments part(BarrierArguments arguments, topology::Range) { return arguments; }
};

}  // namespace tutti
