// Single-writer flags: each is written by one rank with release stores and read by others with acquire loads.
// No read-modify-write anywhere on the path of a collective (XHC, section III.E).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/processor.h"
#include "sync/word.h"

namespace tutti::sync {

/// What different ranks write never shares such a line: two cache lines of x86-64, because of adjacent-line prefetch, and
/// one of POWER.
inline constexpr std::size_t line_bytes = 128;
static_assert(line_bytes % processor::cache_line_bytes == 0);

/// What a flag says: of one flag it only grows, and never comes round to 0.
using Stamp = std::uint64_t;

/// A flag in shared memory. Zero-initialised memory is a valid flag that has reached nothing but 0.
class Flag {
 public:
  /// Pairs with `get` of the readers: what was stored before is visible to whoever sees the stamp.
  void set(Stamp value) { value_.store(value, std::memory_order_release); }
  Stamp get() const { return value_.load(std::memory_order_acquire); }
  /// For two flags that two ranks set, each looking at the other's then: at least one of them sees what the other has
  /// set.
  void set_ordered(Stamp value) { value_.store(value, std::memory_order_seq_cst); }
  Stamp get_ordered() const { return value_.load(std::memory_order_seq_cst); }
  bool has(Stamp target) const { return get() >= target; }

 private:
  Word<Stamp> value_;
};
static_assert(sizeof(Flag) == 8);

/// Fetches the cache line for writing. Only a hint: it may be written by others again before we write.
inline void prefetch_to_write(const void* line) {
  if constexpr (simulated::on) simulated::expects(line);
  processor::prefetch_to_write(line);
}

}  // namespace tutti::sync
