// Blocks of a window whose owner has given them away, and which others have freed. They wait here until the owner takes
// them back.
//
// A list in the window itself, through which the blocks are linked: whoever frees one needs no memory, and the owner
// does nothing for it. Any thread of any process that maps the window may push; the owner takes all that is there at
// once. So no block is pushed again before it was taken out, and the head needs no counter against that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/flag.h"
#include "sync/word.h"

namespace tutti::memory {

class alignas(sync::line_bytes) Returned {
 public:
  /// Of `block`, which is at `offset` of the window: at least 8 bytes that nobody uses any more, at a multiple of 8.
  void push(std::byte* block, std::uint64_t offset) noexcept {
    std::uint64_t first = first_.load(std::memory_order_relaxed);
    do {
      next_of(block).store(first, std::memory_order_relaxed);
      // Pairs with take_all(): what was done with the block before is over for its owner.
    } while (!first_.compare_exchange_weak(first, offset, std::memory_order_release, std::memory_order_relaxed));
  }

  bool any() const noexcept { return first_.load(std::memory_order_relaxed) != none; }

  /// Calls `open(block)` and then `release(block)` for each; base: of the window. Threads may do it at the same time.
  template <class Open, class Release>
  void take_all(std::byte* base, Open open, Release release) noexcept {
    std::uint64_t offset = first_.load(std::memory_order_relaxed);
    while (offset != none && !first_.compare_exchange_strong(offset, none, std::memory_order_acquire)) continue;
    while (offset != none) {
      std::byte* const block = base + offset;
      open(block);
      offset = next_of(block).load(std::memory_order_relaxed);
      release(block);
    }
  }

 private:
  /// A window begins with what its allocator keeps.
  static constexpr std::uint64_t none = 0;
  using Offset = sync::Word<std::uint64_t>;
  static Offset& next_of(std::byte* block) noexcept { return *reinterpret_cast<Offset*>(block); }

  Offset first_;
};

}  // namespace tutti::memory
