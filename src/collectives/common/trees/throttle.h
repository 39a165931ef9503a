// Throttled Scatter and Gather: the ranks after the root form k chains in which one after the other copies.
#pragma once

#include <algorithm>
#include <cmath>

#include "selection/algorithm.h"

namespace tutti {

/// Distance from the root of the first of the last k ranks. These end the chains: each has waited for all before it.
constexpr int last_of_chains(int ranks, int k) {
  return std::max(1, ranks - k);
}

/// Powers of two below the number of ranks that copy.
inline int throttle_candidate(const selection::Shape& shape, int index) {
  const int k = index < 16 ? 1 << index : 0;
  return index == 0 || k < shape.ranks - 1 ? k : 0;
}

/// writes: into the root's buffer (Gather), instead of reading from it.
template <bool writes>
selection::Cost throttled_cost(const selection::Shape& shape) {
  const auto bytes = static_cast<double>(shape.bytes);
  const double others = shape.ranks - 1;
  const double k = std::min<double>(std::max(1, shape.parameter), others);
  const double steps = std::ceil(others / k);
  const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
  return {.hops = 2.0 + steps + 0.2 * k,
          .rounds = 1 + steps,
          .remote_bytes = bytes * steps,
          .written_bytes = writes ? bytes * steps : 0.0,
          .slot_bytes = reach == selection::Reach::staged ? bytes * others : 0.0,
          .exposures = 1,
          .startups = steps,
          .by_kernel = reach == selection::Reach::kernel,
          .concurrency = k,
          .workers = others / steps,
          .held_bytes = bytes * (shape.ranks + 1),
          .beside = {.copied_bytes = bytes}};
}

}  // namespace tutti
