// Single-writer flags: each is written by one rank with release stores and read by others with acquire loads.
// No read-modify-write anywhere on the path of a collective (XHC, section III.E).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::sync {

/// What different ranks write never shares such a line: two cache lines, because of adjacent-line prefetch.
inline constexpr std::size_t line_bytes = 128;

/// A stamp is the operation's sequence number in the high 40 bits and its progress in the low 24. Stamps of one flag
/// only grow; the comparison is modular, so that the sequence may wrap.
using Stamp = std::uint64_t;
inline constexpr int progress_bits = 24;
inline constexpr std::uint64_t progress_max = (std::uint64_t{1} << progress_bits) - 1;

constexpr Stamp stamp(std::uint64_t sequence, std::uint64_t progress = 0) {
  return (sequence << progress_bits) | progress;
}
constexpr bool reached(Stamp value, Stamp target) {
  return static_cast<std::int64_t>(value - target) >= 0;
}

/// A flag in shared memory. Zero-initialised memory is a valid flag that no operation has reached.
class Flag {
 public:
  /// Pairs with `get` of the readers: what was stored before is visible to whoever sees the stamp.
  void set(Stamp value) { value_.store(value, std::memory_order_release); }
  Stamp get() const { return value_.load(std::memory_order_acquire); }
  /// For two flags that two ranks set, each looking at the other's then: at least one of them sees what the other has
  /// set.
  void set_ordered(Stamp value) { value_.store(value, std::memory_order_seq_cst); }
  Stamp get_ordered() const { return value_.load(std::memory_order_seq_cst); }
  bool has(Stamp target) const { return reached(get(), target); }

 private:
  std::atomic<Stamp> value_{0};
};
static_assert(sizeof(Flag) == 8 && std::atomic<Stamp>::is_always_lock_free);

/// Fetches the cache line for writing. Only a hint: it may be written by others again before we write.
inline void prefetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" ::"r"(line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// A line of flags that one rank writes; one index a level of the hierarchy.
struct alignas(line_bytes) FlagLine {
  static constexpr int count = 16;
  Flag flag[count];
};
static_assert(sizeof(FlagLine) == line_bytes);

}  // namespace tutti::sync
