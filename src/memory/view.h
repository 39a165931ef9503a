// A peer's window or arena as it is seen from here: mapped up to what has been used of it, and accessible where it has
// been used. What was used counts as this rank's memory until it is given up (Viewed).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "memory/growing_mapping.h"
#include "memory/viewed.h"

namespace tutti::memory {

class View {
 public:
  struct Options {
    std::size_t step = 0;      ///< what becomes accessible at once, a power of two of at least a page
    Viewed* viewed = nullptr;  ///< counts what is used, and gives it up when that is too much; may be null
    bool huge_pages = false;   ///< the file may hold some, which the kernel maps at once
  };
  /// Of a file of `capacity` bytes. Null, with errno, if the system refuses. The descriptor may be closed afterwards.
  static std::unique_ptr<View> create(int descriptor, std::size_t capacity, const Options& options);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::byte* base() const { return mapping_->base(); }
  std::size_t capacity() const { return mapping_->capacity(); }

  /// Whether the bytes can be loaded and stored, and are counted.
  bool has(std::size_t offset, std::size_t bytes) const noexcept {
    const std::size_t first = offset >> shift_;
    const std::size_t last = (offset + bytes - (bytes != 0)) >> shift_;
    return first == last ? is_there(first) : has_all(first, last);
  }
  /// Makes it so. False if the system refuses, for instance by a limit of the address space. Any thread may call it.
  bool reach(std::size_t offset, std::size_t bytes) noexcept;
  /// Takes address space ahead. Returns how many bytes from the beginning can be reached without more of it.
  std::size_t take(std::size_t bytes) noexcept;
  /// Whether `reach` would take more of a limited address space than a guest should: its part of a quarter of the
  /// limit, among `views`. What is mapped already is never too much.
  bool is_too_much(std::size_t offset, std::size_t bytes, std::size_t views) const noexcept;

 private:
  friend class Viewed;
  using Word = std::atomic<std::uint64_t>;
  struct Bits {
    Word* words;
    std::size_t bytes;
  };
  static Bits make_bits(std::size_t count) noexcept;
  View(std::unique_ptr<GrowingMapping> mapping, Bits there, Bits open, unsigned shift, unsigned step_shift,
       Viewed* viewed);
  bool is_there(std::size_t grain) const noexcept {
    return there_.words[grain / 64].load(std::memory_order_acquire) >> (grain % 64) & 1;
  }
  bool has_all(std::size_t first, std::size_t last) const noexcept;
  bool open(std::size_t offset, std::size_t bytes) noexcept;
  /// Gives up what was used from `place` on, which moves on, until that is `bytes` or more, or this is the end. Returns
  /// how much it was.
  std::size_t give_up(std::size_t& place, std::size_t bytes) noexcept;

  unsigned shift_;  ///< of a grain: what is counted at once
  Bits there_;      ///< a bit a grain
  unsigned step_shift_;
  Bits open_;  ///< a bit a step; guarded by the mutex
  std::unique_ptr<GrowingMapping> mapping_;
  Viewed* viewed_;
  std::mutex mutex_;  ///< of the mapping
};

}  // namespace tutti::memory
