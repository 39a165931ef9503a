// Allgather and Allgatherv.
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Allgather and Allgatherv: every rank knows all sizes, so both are of this one kind.
struct AllgatherArguments {
  const std::byte* send = nullptr;  ///< null in place: the own block is where it belongs
  std::size_t bytes = 0;            ///< of this rank's own block
  Blocks receive;
  /// Of long blocks that differ, what this operation carries of all of them one behind the other; set by Collectives.
  topology::Range piece = {};
  memory::Store store = memory::Store::cached;
  int parameter = 0;
};

template <>
struct Kind<AllgatherArguments> : AnyKind {
  static double buffers(double ranks) { return 1 + ranks; }
  static bool is_second(const AllgatherArguments& arguments) { return !arguments.receive.is_regular(); }
  static CallKey key(const AllgatherArguments& arguments, int ranks) {
    const Blocks& blocks = arguments.receive;
    return {blocks.is_regular() ? arguments.bytes : *std::max_element(blocks.sizes, blocks.sizes + ranks)};
  }
  static CallSizes sizes(const AllgatherArguments& arguments, const SizeLimits& limits) {
    const std::size_t total = arguments.receive.total_bytes(limits.ranks);
    if (arguments.receive.is_regular())
      return limits.of_blocks(arguments.bytes, total, static_cast<std::size_t>(limits.ranks));
    CallSizes sizes = limits.whole(arguments.bytes, total);
    if (limits.spans_nodes()) sizes.cut = {total, limits.shared_piece(1)};
    return sizes;
  }
  static AllgatherArguments part(AllgatherArguments arguments, topology::Range piece) {
    if (!arguments.receive.is_regular()) {
      arguments.piece = piece;
      return arguments;
    }
    arguments.bytes = arguments.receive.bytes = piece.length();
    arguments.receive.base += piece.begin;
    if (arguments.send) arguments.send += piece.begin;
    return arguments;
  }
};

}  // namespace tutti
