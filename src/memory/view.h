// A peer's window or arena as it is seen from here: mapped up to what has been used of it, and accessible where it has
// been used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "memory/growing_mapping.h"

namespace tutti::memory {

class View {
 public:
  /// Of a file of `capacity` bytes. `step`: what becomes accessible at once, a power of two of at least a page. Null,
  /// with errno, if the system refuses. The descriptor may be closed afterwards.
  static std::unique_ptr<View> create(int descriptor, std::size_t capacity, std::size_t step);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::byte* base() const { return mapping_->base(); }

  /// Whether the bytes can be loaded and stored.
  bool has(std::size_t offset, std::size_t bytes) const noexcept {
    const std::size_t first = offset >> shift_;
    const std::size_t last = (offset + bytes - (bytes != 0)) >> shift_;
    return first == last ? is_open(first) : has_all(first, last);
  }
  /// Makes it so. False if the system refuses, for instance by a limit of the address space. Any thread may call it.
  bool reach(std::size_t offset, std::size_t bytes) noexcept;
  /// Takes address space ahead. Returns how many bytes from the beginning can be reached without more of it.
  std::size_t take(std::size_t bytes) noexcept;
  /// Whether `reach` would take more of a limited address space than a guest should: its part of a quarter of the
  /// limit, among `views`. What is mapped already is never too much.
  bool is_too_much(std::size_t offset, std::size_t bytes, std::size_t views) const noexcept;

 private:
  using Word = std::atomic<std::uint64_t>;
  View(std::unique_ptr<GrowingMapping> mapping, Word* words, std::size_t word_bytes, unsigned shift);
  bool is_open(std::size_t step) const noexcept {
    return words_[step / 64].load(std::memory_order_acquire) >> (step % 64) & 1;
  }
  bool has_all(std::size_t first, std::size_t last) const noexcept;

  unsigned shift_;
  Word* words_;  ///< a bit a step
  std::size_t word_bytes_;
  std::unique_ptr<GrowingMapping> mapping_;
  std::mutex mutex_;  ///< of the mapping
};

}  // namespace tutti::memory
