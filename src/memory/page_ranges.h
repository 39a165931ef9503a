// A set of stretches of address space, each with a value, for what is said of pages: that they are not the window's any
// more, that peers do not reach them. Usually it is empty, and asking costs one load.
//
// It is changed where the program maps and protects memory, in its signal handlers too: nothing here calls malloc, and
// the lock is only ever held with all signals blocked.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace tutti::memory {

class PageRanges {
 public:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    int value = 0;
    bool operator==(const Range&) const = default;
  };

  PageRanges() = default;
  ~PageRanges();
  PageRanges(const PageRanges&) = delete;
  PageRanges& operator=(const PageRanges&) = delete;

  bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  /// Whether a byte of these lies in a range.
  bool touches(const void* address, std::size_t bytes) const noexcept {
    return any() && touches_some(reinterpret_cast<std::uintptr_t>(address), bytes);
  }

  /// [begin, end) has this value from now on, whatever it had before.
  void set(std::uintptr_t begin, std::uintptr_t end, int value) noexcept;
  void clear(std::uintptr_t begin, std::uintptr_t end) noexcept;
  /// The first range in [from, end), cut to it; false if there is none.
  bool next(std::uintptr_t from, std::uintptr_t end, Range& found) const noexcept;
  /// Calls `visit(begin, end, range)` for all of [begin, end) in order, in pieces: those of ranges with their range, the
  /// others with nullptr. Ends when that returns false, and returns that.
  template <class Visit>
  bool for_each_piece(std::uintptr_t begin, std::uintptr_t end, Visit visit) const {
    Range range;
    while (begin < end && any() && next(begin, end, range)) {
      if (begin < range.begin && !visit(begin, range.begin, static_cast<const Range*>(nullptr))) return false;
      if (!visit(range.begin, range.end, &range)) return false;
      begin = range.end;
    }
    return begin >= end || visit(begin, end, static_cast<const Range*>(nullptr));
  }

  /// Around fork(), so that a child finds it whole: nobody changes it in between.
  void hold() noexcept;
  void let_go() noexcept;

 private:
  class Lock;
  bool touches_some(std::uintptr_t begin, std::size_t bytes) const noexcept;
  std::size_t first_beyond(std::uintptr_t address) const noexcept;
  bool reserve(std::size_t count) noexcept;
  void replace(std::uintptr_t begin, std::uintptr_t end, const Range* by) noexcept;

  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  bool lost_ = false;  ///< there was no memory to note a range: any memory may be in one
  Range* ranges_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  sigset_t signals_;  ///< before hold()
};

}  // namespace tutti::memory
