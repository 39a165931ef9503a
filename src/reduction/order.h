// The order in which the sources of a reduction are combined.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti::reduction {

enum class Order : std::uint8_t {
  /// ((0 op 1) op 2) op 3: as a prefix follows from the one before it.
  in_sequence,
  /// (0 op 1) op (2 op 3): that of recursive doubling. Of n sources and the largest power of two p <= n, the first n - p
  /// pairs are combined; what is there then, p values, is combined in pairs until one is left. Open MPI's Allreduce goes
  /// so, and MPICH's of short messages (Thakur, Rabenseifner, Gropp 2005, sections 4.1 and 4.5); rounding errors of sums
  /// grow with log n.
  in_pairs,
};

/// How many of `count` sources, at least 2, are combined in pairs before the rest is, and what comes of both.
constexpr std::size_t first_half(std::size_t count) {
  const std::size_t values = std::bit_floor(count);
  return values / 2 + std::min(count - values, values / 2);
}

/// What most_operands(count) values are enough for, numbered from 0: take(source, at) makes one the source's, combine(at)
/// makes it what it and the one behind it come to, in this order. The result is the first one.
template <class Take, class Combine>
void combine_in_pairs(std::size_t first, std::size_t count, std::size_t at, const Take& take, const Combine& combine) {
  if (count == 1) return take(first, at);
  const std::size_t half = first_half(count);
  combine_in_pairs(first, half, at, take, combine);
  combine_in_pairs(first + half, count - half, at + 1, take, combine);
  combine(at);
}
template <class Take, class Combine>
void combine(std::size_t count, Order order, const Take& take, const Combine& combine) {
  if (order == Order::in_pairs) return combine_in_pairs(0, count, 0, take, combine);
  take(0, 0);
  for (std::size_t i = 1; i < count; ++i) {
    take(i, 1);
    combine(0);
  }
}
constexpr std::size_t most_operands(std::size_t count) {
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::bit_width(count)));
}

}  // namespace tutti::reduction
