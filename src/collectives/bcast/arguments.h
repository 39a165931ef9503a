// Bcast.
#pragma once

#include "collectives/kind.h"

namespace tutti {

struct BcastArguments {
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  int root = 0;
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

template <>
struct Kind<BcastArguments> : AnyKind {
  static double buffers(double) { return 1; }
  static CallKey key(const BcastArguments& arguments, int) { return {arguments.bytes}; }
  static CallSizes sizes(const BcastArguments& arguments, const SizeLimits& limits) {
    CallSizes sizes = limits.whole(arguments.bytes, arguments.bytes);
    if (!sizes.small) sizes.cut = {arguments.bytes, limits.segment};
    return sizes;
  }
  static BcastArguments part(BcastArguments arguments, topology::Range piece) {
    arguments.buffer += piece.begin;
    arguments.bytes = piece.length();
    return arguments;
  }
};

}  // namespace tutti
