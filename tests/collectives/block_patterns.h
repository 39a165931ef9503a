// Blocks whose bytes say from whom to whom they go, and what receive buffers look like after a call: for tests of the
// collectives in which every rank has a block of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "collectives/kinds.h"

namespace tutti::test {

/// Bytes between and around blocks, which no collective may touch.
inline constexpr std::byte guard{0x5a};

/// Fills a block: its bytes depend on sender, receiver and call.
inline void fill_block(std::byte* block, std::size_t bytes, int from, int to, int call) {
  static const std::vector<std::byte> noise = [] {
    std::vector<std::byte> made(std::size_t{1} << 16);
    unsigned state = 1;
    for (std::byte& byte : made) {
      state = state * 1664525u + 1013904223u;
      byte = static_cast<std::byte>(state >> 24);
    }
    return made;
  }();
  const auto start = static_cast<std::size_t>(from * 131 + to * 17 + call * 1009) % 20011;
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t part = std::min(bytes - at, noise.size() - start);
    std::memcpy(block + at, noise.data() + start, part);
    at += part;
  }
}

/// Index of the first byte that differs, or the size, which has to be the same, if none does. Compared as a whole first:
/// sanitizers look at every byte that a loop touches.
inline std::size_t first_difference(const std::vector<std::byte>& is, const std::vector<std::byte>& expected) {
  EXPECT_EQ(is.size(), expected.size());
  // Of nothing there may be no address, which std::memcmp does not take.
  if (is.empty()) return 0;
  if (is.size() == expected.size() && std::memcmp(is.data(), expected.data(), is.size()) == 0) return is.size();
  const std::size_t common = std::min(is.size(), expected.size());
  return static_cast<std::size_t>(
      std::mismatch(is.begin(), is.begin() + static_cast<std::ptrdiff_t>(common), expected.begin()).first - is.begin());
}

/// A buffer of blocks of the given sizes with guard bytes between them, in reverse order if asked for.
struct BlockBuffer {
  std::vector<std::size_t> sizes;
  std::vector<std::ptrdiff_t> offsets;
  std::vector<std::byte> bytes;

  BlockBuffer(std::vector<std::size_t> of, std::size_t gap, bool reversed = false)
      : sizes(std::move(of)), offsets(sizes.size()) {
    std::size_t at = 1;
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      const std::size_t i = reversed ? sizes.size() - 1 - n : n;
      offsets[i] = static_cast<std::ptrdiff_t>(at);
      at += sizes[i] + gap;
    }
    bytes.assign(at + 1, guard);
  }
  std::byte* block(std::size_t i) { return bytes.data() + offsets[i]; }
  /// As the collectives see it: regular only if all blocks are equal and nothing lies between them.
  Blocks blocks(bool regular) const {
    return regular ? Blocks::regular(bytes.data() + 1, sizes[0])
                   : Blocks::irregular(bytes.data(), sizes.data(), offsets.data());
  }
};

}  // namespace tutti::test
