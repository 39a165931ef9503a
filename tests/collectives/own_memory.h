// Loops of tests over memory that only the calling thread has. ThreadSanitizer looks at each access of a loop, so that
// they took more of its time than what is tested; a std::memcpy it looks at as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

/// A function that touches nothing but its thread's own memory, and which ThreadSanitizer need not look into. What it
/// calls has to be marked, too.
#define TUTTI_OWN_MEMORY __attribute__((no_sanitize("thread")))

namespace tutti::test {

/// Adds right[i] to left[i], modulo 256.
TUTTI_OWN_MEMORY inline void add_to(std::byte* left, const std::byte* right, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    left[i] = static_cast<std::byte>(static_cast<unsigned>(left[i]) + static_cast<unsigned>(right[i]));
}

/// What Combiner::function does, for an operator on single bytes: `combine(left, right, bytes)` gives left[i] the
/// combination of left[i] and right[i], and is given copies. All else, which other threads may write, is only copied.
template <class Combine>
void combine_copies(void* destination, const void* const* sources, std::size_t count, std::size_t bytes,
                    const Combine& combine) {
  std::byte left[2048], right[sizeof left];
  for (std::size_t at = 0; at < bytes; at += sizeof left) {
    const std::size_t part = std::min(bytes - at, sizeof left);
    std::memcpy(left, static_cast<const std::byte*>(sources[0]) + at, part);
    for (std::size_t s = 1; s < count; ++s) {
      std::memcpy(right, static_cast<const std::byte*>(sources[s]) + at, part);
      combine(left, right, part);
    }
    std::memcpy(static_cast<std::byte*>(destination) + at, left, part);
  }
}

}  // namespace tutti::test
