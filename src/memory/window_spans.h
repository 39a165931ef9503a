// Stretches of addresses, far from the window's own, where pages of its file are mapped too: static data of the program
// and its libraries (window_static.cpp).
//
// Any thread looks a buffer up, without a lock. Spans are added while the process has one thread; afterwards they only
// go.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::memory {

class WindowSpans {
 public:
  static constexpr std::size_t nowhere = SIZE_MAX;
  static constexpr std::size_t most = 128;

  struct Span {
    std::uintptr_t begin = 0, end = 0;
    std::size_t offset = 0;  ///< in the window's file
    bool library = false;    ///< of a library, which may be unloaded
  };

  /// Where in the file all of these bytes lie; nowhere: outside, or it may be about to be unmapped.
  std::size_t find(const void* address, std::size_t bytes) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (std::size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
      const Span& span = spans_[i];
      if (at - span.begin >= span.end - span.begin || bytes > span.end - at) continue;
      const bool there = span.library ? suspended_.load() == 0 && !gone_[i].load() : true;
      return there ? span.offset + (at - span.begin) : nowhere;
    }
    return nowhere;
  }
  /// Calls `visit(span)` for what of the spans lies in [begin, end), cut to it.
  template <class Visit>
  void for_each_within(std::uintptr_t begin, std::uintptr_t end, Visit visit) const {
    for (std::size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
      Span part = spans_[i];
      if (gone_[i].load() || part.begin >= end || part.end <= begin) continue;
      if (part.begin < begin) {
        part.offset += begin - part.begin;
        part.begin = begin;
      }
      if (part.end > end) part.end = end;
      visit(part);
    }
  }
  /// Calls `visit(begin, end)` for the addresses where what lies in [begin, end) of the file is mapped too.
  template <class Visit>
  void for_each_of_file(std::size_t begin, std::size_t end, Visit visit) const {
    for (std::size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
      const Span& span = spans_[i];
      if (gone_[i].load() || (span.library && suspended_.load() != 0)) continue;
      const std::size_t from = std::max(begin, span.offset);
      const std::size_t to = std::min(end, span.offset + (span.end - span.begin));
      if (from < to) visit(span.begin + (from - span.offset), span.begin + (to - span.offset));
    }
  }
  bool touches(const void* address, std::size_t bytes) const noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    bool found = false;
    for_each_within(begin, bytes > UINTPTR_MAX - begin ? UINTPTR_MAX : begin + bytes,
                    [&](const Span&) { found = true; });
    return found;
  }

  /// There is room for one more.
  bool has_room() const noexcept { return count_.load(std::memory_order_relaxed) < most; }
  void add(const Span& span) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    spans_[count] = span;
    count_.store(count + 1, std::memory_order_release);
  }
  /// Until resume() no buffer is found in the spans of libraries. Calls may overlap.
  void suspend() noexcept { suspended_.fetch_add(1); }
  /// `is_there(span)` tells of each of these whether it still is. The others are not looked at any more, for good.
  template <class IsThere>
  void resume(IsThere is_there) noexcept {
    for (std::size_t i = count_.load(std::memory_order_acquire); i-- > 0;)
      if (spans_[i].library && !gone_[i].load() && !is_there(spans_[i])) gone_[i].store(true);
    suspended_.fetch_sub(1);
  }

 private:
  std::atomic<std::size_t> count_{0};
  std::atomic<int> suspended_{0};
  std::array<Span, most> spans_{};
  std::array<std::atomic<bool>, most> gone_{};
};

}  // namespace tutti::memory
