// How a range of elements is divided among workers. Pure.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tutti::topology {

struct Range {
  std::size_t begin = 0, end = 0;
  constexpr bool empty() const { return begin >= end; }
  constexpr std::size_t length() const { return empty() ? 0 : end - begin; }
};

/// Elements that fill a cache line, or 1: the granularity at which work is divided, so that workers share no line.
constexpr std::size_t elements_in_line(std::size_t element_bytes) {
  return element_bytes < 64 && 64 % element_bytes == 0 ? 64 / element_bytes : 1;
}

/// The part of `whole` that worker `index` of `workers` takes. Parts are disjoint, cover the whole, and differ by at
/// most `granule` elements; boundaries inside are multiples of `granule` from the beginning.
constexpr Range share_of(Range whole, std::size_t index, std::size_t workers, std::size_t granule) {
  const std::size_t granules = (whole.length() + granule - 1) / granule;
  const auto boundary = [&](std::size_t i) {
    const std::size_t at = (granules / workers) * i + std::min(i, granules % workers);
    return std::min(whole.begin + at * granule, whole.end);
  };
  return {boundary(index), boundary(index + 1)};
}

/// The elements that begin in the bytes [begin, end).
constexpr Range elements_in_bytes(std::size_t begin, std::size_t end, std::size_t element_bytes) {
  return {(begin + element_bytes - 1) / element_bytes, (end + element_bytes - 1) / element_bytes};
}

}  // namespace tutti::topology
