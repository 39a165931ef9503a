// Alltoall, Alltoallv and Alltoallw.
#pragma once

#include "collectives/kind.h"

namespace tutti {

/// Alltoall, Alltoallv and Alltoallw. Sizes are known to sender and receiver of each block. The buffers do not overlap:
/// calls in place are given a copy to send from.
struct AlltoallArguments {
  Blocks send;
  Blocks receive;
  bool regular = true;  ///< Alltoall
  memory::Store store = memory::Store::cached;
  int parameter = 0;
  Spreads sent = {}, received = {};  ///< of `send` and `receive`
};

template <>
struct Kind<AlltoallArguments> : AnyKind {
  static constexpr SizesDiffer sizes_differ = SizesDiffer::in_second;

  static double buffers(double ranks) { return 2 * ranks; }
  static bool is_second(const AlltoallArguments& arguments) { return !arguments.regular; }
  static CallKey key(const AlltoallArguments& arguments, int) {
    return {arguments.regular ? arguments.send.bytes : irregular_block_bytes};
  }
  static CallSizes sizes(const AlltoallArguments& arguments, const SizeLimits& limits) {
    const auto ranks = static_cast<std::size_t>(limits.ranks);
    const std::size_t senders = limits.spans_nodes() ? static_cast<std::size_t>(limits.places) : 1;
    if (arguments.regular)
      return limits.of_blocks(arguments.send.bytes, 2 * arguments.send.bytes * ranks, senders * ranks);
    return limits.whole(arguments.send.total_bytes(limits.ranks) / ranks,
                        2 * arguments.receive.total_bytes(limits.ranks));
  }
  static AlltoallArguments part(AlltoallArguments arguments, topology::Range piece) {
    // Layouts are of whole blocks.
    arguments.sent = arguments.received = {};
    arguments.send.bytes = arguments.receive.bytes = piece.length();
    arguments.send.base += piece.begin;
    arguments.receive.base += piece.begin;
    return arguments;
  }
};

}  // namespace tutti
