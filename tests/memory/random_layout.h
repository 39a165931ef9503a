// Layouts of all kinds, and what they mean byte by byte.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "memory/layout.h"

namespace tutti::test {

/// Offsets of all bytes, in their order.
inline std::vector<std::ptrdiff_t> offsets_of(const memory::Layout& layout) {
  std::vector<std::ptrdiff_t> offsets(layout.run());
  std::iota(offsets.begin(), offsets.end(), layout.first());
  for (int i = 0; i < layout.loops(); ++i) {
    const std::vector<std::ptrdiff_t> inner = offsets;
    offsets.clear();
    for (std::size_t j = 0; j < layout.loop(i).count; ++j)
      for (const std::ptrdiff_t offset : inner)
        offsets.push_back(offset + static_cast<std::ptrdiff_t>(j) * layout.loop(i).distance);
  }
  return offsets;
}

/// Whatever it is: no two of its runs overlap.
inline memory::Layout random_layout(std::mt19937& random, std::size_t bytes) {
  const auto divisor_of = [&](std::size_t number) {
    std::size_t divisor = 0;
    do divisor = 1 + random() % number;
    while (number % divisor != 0);
    return divisor;
  };
  std::size_t rest = bytes;
  memory::Layout layout(divisor_of(rest));
  std::size_t extent = layout.run();
  rest /= layout.run();
  for (int i = 0; i < memory::Layout::loops_max && rest > 1; ++i) {
    const std::size_t count = i + 1 == memory::Layout::loops_max ? rest : divisor_of(rest);
    auto distance = static_cast<std::ptrdiff_t>(extent + random() % 20);
    if (random() % 4 == 0) distance = -distance;
    if (!layout.repeat(count, distance)) return memory::Layout(bytes);
    extent = static_cast<std::size_t>(std::abs(distance)) * count;
    rest /= count;
  }
  layout.move(static_cast<std::ptrdiff_t>(random() % 100));
  return rest == 1 ? layout : memory::Layout(bytes);
}

}  // namespace tutti::test
