// Scatter and Scatterv.
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Scatter and Scatterv. Each rank knows the size of its own block, the root all of them.
struct ScatterArguments {
  Blocks send;                   ///< on the root; ignored elsewhere
  std::byte* receive = nullptr;  ///< null on a root in place: its block stays where it is
  std::size_t bytes = 0;         ///< of this rank's own block
  int root = 0;
  bool regular = true;  ///< Scatter; then `bytes` is equal on all ranks
  memory::Store store = memory::Store::cached;
  int parameter = 0;

  Block own() const { return {receive, bytes}; }
};

template <>
struct Kind<ScatterArguments> : RootedBlocksKind<ScatterArguments> {
  static CallSizes sizes(const ScatterArguments& arguments, const SizeLimits& limits) {
    return sizes_of(arguments, arguments.send, limits);
  }
  static ScatterArguments part(ScatterArguments arguments, topology::Range piece) {
    arguments.bytes = arguments.send.bytes = piece.length();
    arguments.send.base += piece.begin;
    if (arguments.receive) arguments.receive += piece.begin;
    return arguments;
  }
};

}  // namespace tutti
