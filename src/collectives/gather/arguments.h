// Gather and Gatherv.
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Gather and Gatherv.
struct GatherArguments {
  const std::byte* send = nullptr;  ///< null on a root in place: its block is where it belongs
  std::size_t bytes = 0;            ///< of this rank's own block
  Blocks receive;                   ///< on the root; ignored elsewhere
  int root = 0;
  bool regular = true;  ///< Gather; then `bytes` is equal on all ranks
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  Block own() const { return {const_cast<std::byte*>(send), bytes}; }
};

template <>
struct Kind<GatherArguments> : RootedBlocksKind<GatherArguments> {
  static CallSizes sizes(const GatherArguments& arguments, const SizeLimits& limits) {
    return sizes_of(arguments, arguments.receive, limits);
  }
  static GatherArguments part(GatherArguments arguments, topology::Range piece) {
    arguments.bytes = arguments.receive.bytes = piece.length();
    arguments.receive.base += piece.begin;
    if (arguments.send) arguments.send += piece.begin;
    return arguments;
  }
};

}  // namespace tutti
