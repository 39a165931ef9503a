// How many elements each block of a buffer has, and where it begins.
#pragma once

#include <cstddef>
#include <vector>

#include "../buffers.h"

namespace tutti::bench {

/// Blocks one after the other. Counts and offsets are in elements, as MPI's functions take them.
struct Layout {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::size_t total = 0;

  /// count_of(i): elements of block i.
  template <class CountOf>
  static Layout of(int blocks, CountOf count_of) {
    Layout layout;
    for (int i = 0; i < blocks; ++i) {
      layout.offsets.push_back(static_cast<int>(layout.total));
      layout.counts.push_back(static_cast<int>(count_of(i)));
      layout.total += static_cast<std::size_t>(layout.counts.back());
    }
    return layout;
  }
  std::size_t count(int i) const { return static_cast<std::size_t>(counts[static_cast<std::size_t>(i)]); }
  std::size_t offset(int i) const { return static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]); }
};

/// Counts that differ: a quarter less than `elements` where `number` is even, a quarter more where it is odd.
constexpr std::size_t uneven(std::size_t elements, int number) {
  const std::size_t quarter = elements / 4;
  return number % 2 == 0 ? elements - quarter : elements + quarter;
}

}  // namespace tutti::bench
