#include "memory/page_ranges.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/no_signals.h"

namespace tutti::memory {

namespace {

/// Memory by the system call itself: the function may be one that notes ranges.
void* map_pages(std::size_t bytes) {
  const long at =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, std::int64_t{0});
  return at == -1 ? nullptr : reinterpret_cast<void*>(at);
}

}  // namespace

class PageRanges::Lock {
 public:
  explicit Lock(std::mutex& mutex) : lock_(mutex) {}

 private:
  const NoSignals none_;
  const std::lock_guard<std::mutex> lock_;
};

PageRanges::~PageRanges() {
  if (ranges_) syscall(SYS_munmap, ranges_, capacity_ * sizeof(Range));
}

void PageRanges::hold() noexcept {
  sigset_t all;
  sigfillset(&all);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  mutex_.lock();
  signals_ = before;
}

void PageRanges::let_go() noexcept {
  const sigset_t before = signals_;
  mutex_.unlock();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// The first range that ends beyond the address.
std::size_t PageRanges::first_beyond(std::uintptr_t address) const noexcept {
  const Range* const found = std::upper_bound(
      ranges_, ranges_ + count_, address, [](std::uintptr_t value, const Range& range) { return value < range.end; });
  return static_cast<std::size_t>(found - ranges_);
}

bool PageRanges::touches_some(std::uintptr_t begin, std::size_t bytes) const noexcept {
  const Lock lock(mutex_);
  if (lost_) return true;
  const std::size_t at = first_beyond(begin);
  if (at == count_) return false;
  // Without a sum: it may wrap.
  return ranges_[at].begin <= begin || ranges_[at].begin - begin < bytes;
}

bool PageRanges::next(std::uintptr_t from, std::uintptr_t end, Range& found) const noexcept {
  const Lock lock(mutex_);
  const std::size_t at = first_beyond(from);
  if (at == count_ || ranges_[at].begin >= end) return false;
  found = {std::max(from, ranges_[at].begin), std::min(end, ranges_[at].end), ranges_[at].value};
  return true;
}

bool PageRanges::reserve(std::size_t count) noexcept {
  if (count <= capacity_) return true;
  const std::size_t capacity = std::max<std::size_t>(256, 2 * capacity_);
  void* const memory = map_pages(capacity * sizeof(Range));
  if (!memory) return false;
  if (ranges_) {
    std::memcpy(memory, static_cast<const void*>(ranges_), count_ * sizeof(Range));
    syscall(SYS_munmap, ranges_, capacity_ * sizeof(Range));
  }
  ranges_ = static_cast<Range*>(memory);
  capacity_ = capacity;
  return true;
}

/// What is there of [begin, end) goes, and `by` comes, which may be null. Neighbours of the same value become one.
void PageRanges::replace(std::uintptr_t begin, std::uintptr_t end, const Range* by) noexcept {
  if (begin >= end) return;
  const int kept_errno = errno;
  const Lock lock(mutex_);
  if (!reserve(count_ + 2)) {
    lost_ = true;
    any_.store(true, std::memory_order_relaxed);
    errno = kept_errno;
    return;
  }
  // Those that touch it or end where it begins are looked at anew.
  const std::size_t first = begin == 0 ? 0 : first_beyond(begin - 1);
  std::size_t last = first;
  while (last < count_ && ranges_[last].begin <= end) ++last;
  Range fresh[3];
  std::size_t fresh_count = 0;
  const auto add = [&](Range range) {
    if (range.begin >= range.end) return;
    Range* const before = fresh_count ? &fresh[fresh_count - 1] : nullptr;
    if (before && before->end == range.begin && before->value == range.value)
      before->end = range.end;
    else
      fresh[fresh_count++] = range;
  };
  if (first < last) add({ranges_[first].begin, std::min(ranges_[first].end, begin), ranges_[first].value});
  if (by) add(*by);
  if (first < last) add({std::max(ranges_[last - 1].begin, end), ranges_[last - 1].end, ranges_[last - 1].value});
  std::memmove(static_cast<void*>(ranges_ + first + fresh_count), static_cast<const void*>(ranges_ + last),
               (count_ - last) * sizeof(Range));
  std::memcpy(static_cast<void*>(ranges_ + first), static_cast<const void*>(fresh), fresh_count * sizeof(Range));
  count_ = first + fresh_count + (count_ - last);
  any_.store(count_ > 0 || lost_, std::memory_order_relaxed);
  errno = kept_errno;
}

void PageRanges::set(std::uintptr_t begin, std::uintptr_t end, int value) noexcept {
  const Range range{begin, end, value};
  replace(begin, end, &range);
}

void PageRanges::clear(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (any()) replace(begin, end, nullptr);
}

}  // namespace tutti::memory
