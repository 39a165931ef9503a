// An operator whose order shows: bytes as maps x -> a x + b modulo 16 with odd a, combined by composition. Associative,
// not commutative, for elements of any size, and never degenerate. What a run of ranks yields is a table look-up.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "collectives/arguments.h"

namespace tutti::test {

constexpr unsigned compose(unsigned left, unsigned right) {
  const unsigned a = (left >> 4) | 1, b = left & 15, c = (right >> 4) | 1, d = right & 15;
  return ((a * c & 15) << 4) | ((a * d + b) & 15);
}

/// What `rank` contributes at byte i of call `salt`: one after the other from rank to rank.
constexpr unsigned contribution(std::size_t i, int salt, int rank) {
  return static_cast<unsigned>(i * 7 + i / 251 + static_cast<std::size_t>(salt + rank)) & 255;
}

/// The composition of the contributions of the ranks 0 .. count-1, for every value of that of rank 0; count >= 1.
inline std::array<std::byte, 256> composed(int count) {
  std::array<std::byte, 256> table{};
  for (unsigned first = 0; first < 256; ++first) {
    unsigned value = first;
    for (int rank = 1; rank < count; ++rank) value = compose(value, (first + static_cast<unsigned>(rank)) & 255);
    table[first] = static_cast<std::byte>(value);
  }
  return table;
}

inline void fill(std::vector<std::byte>& buffer, std::size_t bytes, int salt, int rank) {
  for (std::size_t i = 0; i < bytes; ++i) buffer[i] = static_cast<std::byte>(contribution(i, salt, rank));
}

/// Combiner::Function; the context is the size of an element.
inline void compose_all(void* context, void* destination, const void* const* sources, std::size_t count,
                        std::size_t elements) {
  const std::size_t bytes = elements * *static_cast<const std::size_t*>(context);
  for (std::size_t i = 0; i < bytes; ++i) {
    auto value = std::to_integer<unsigned>(static_cast<const std::byte*>(sources[0])[i]);
    for (std::size_t s = 1; s < count; ++s)
      value = compose(value, std::to_integer<unsigned>(static_cast<const std::byte*>(sources[s])[i]));
    static_cast<std::byte*>(destination)[i] = static_cast<std::byte>(value);
  }
}

/// commutes: what the core is told; the order is checked all the same.
inline Combiner composition(std::size_t& element_bytes, bool commutes) {
  Combiner combiner;
  combiner.element_bytes = element_bytes;
  combiner.commutative = commutes;
  combiner.function = compose_all;
  combiner.context = &element_bytes;
  return combiner;
}

}  // namespace tutti::test
