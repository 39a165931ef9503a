// An operator whose order shows: bytes as maps x -> a x + b modulo 16 with odd a, combined by composition. Associative,
// not commutative, for elements of any size, and never degenerate. What a run of ranks yields is a table look-up.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "collectives/kinds.h"
#include "collectives/own_memory.h"

namespace tutti::test {

TUTTI_OWN_MEMORY constexpr unsigned compose(unsigned left, unsigned right) {
  const unsigned a = (left >> 4) | 1, b = left & 15, c = (right >> 4) | 1, d = right & 15;
  return ((a * c & 15) << 4) | ((a * d + b) & 15);
}

/// What `rank` contributes at byte i of call `salt`: one after the other from rank to rank.
TUTTI_OWN_MEMORY constexpr unsigned contribution(std::size_t i, int salt, int rank) {
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

TUTTI_OWN_MEMORY inline void fill(std::vector<std::byte>& buffer, std::size_t bytes, int salt, int rank) {
  std::byte* const to = buffer.data();
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(contribution(i, salt, rank));
}

/// What a table of composed() gives for the contributions of rank 0 at bytes first .. first+bytes-1.
TUTTI_OWN_MEMORY inline void write_composed(std::byte* to, const std::byte* table, std::size_t first, std::size_t bytes,
                                            int salt) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = table[contribution(first + i, salt, 0)];
}

TUTTI_OWN_MEMORY inline void compose_right(std::byte* left, const std::byte* right, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    left[i] = static_cast<std::byte>(compose(static_cast<unsigned>(left[i]), static_cast<unsigned>(right[i])));
}

/// Combiner::Function; the context is the size of an element.
inline void compose_all(void* context, void* destination, const void* const* sources, std::size_t count,
                        std::size_t elements, reduction::Order /*order*/) {
  combine_copies(destination, sources, count, elements * *static_cast<const std::size_t*>(context), compose_right);
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
