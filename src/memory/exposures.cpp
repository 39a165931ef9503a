#include "memory/exposures.h"

#include <algorithm>

#include "memory/pages.h"

namespace tutti::memory {

namespace {

/// An extent that touches a new one is joined with it if it is not much larger: whoever had attached it attaches anew,
/// which must not cost more than the newcomer is worth.
constexpr std::uint64_t joined_at_most = 4;

}  // namespace

ExposureTable::Extent ExposureTable::read(std::size_t index) const {
  // The owner stores odd version, extent, even version, each with release: whoever sees a new bound sees the odd
  // version or a later one in the second load.
  const Row& from = row[index];
  Extent extent;
  extent.version = from.version.load(std::memory_order_acquire);
  extent.begin = from.begin.load(std::memory_order_acquire);
  extent.end = from.end.load(std::memory_order_acquire);
  if (extent.version % 2 != 0 || from.version.load(std::memory_order_relaxed) != extent.version) return {};
  return extent;
}

void Exposures::write(std::size_t row, std::uint64_t begin, std::uint64_t end) noexcept {
  ExposureTable::Row& to = table_.row[row];
  const std::uint64_t version = to.version.load(std::memory_order_relaxed);
  to.version.store(version + 1, std::memory_order_release);
  to.begin.store(begin, std::memory_order_release);
  to.end.store(end, std::memory_order_release);
  to.version.store(version + 2, std::memory_order_release);
  table_.changes.store(table_.changes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  own_[row] = {begin, end, ++uses_};
}

Region Exposures::expose(const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!Region::is_attachable(address)) return {};
  std::uint64_t begin = at & ~(page_bytes() - 1);
  std::uint64_t end = (at + std::max<std::size_t>(bytes, 1) + page_bytes() - 1) & ~(page_bytes() - 1);
  const std::lock_guard lock(mutex_);
  const auto holds = [&](std::size_t row) { return own_[row].begin <= begin && end <= own_[row].end; };
  std::size_t row = last_row_;
  if (!holds(row))
    for (row = 0; row < used_rows_ && !holds(row);) ++row;
  if (row < used_rows_) {
    last_row_ = row;
    own_[row].used = ++uses_;
    return Region::attachable(static_cast<unsigned>(row), at);
  }

  const std::uint64_t join_up_to = joined_at_most * (end - begin);
  for (std::size_t i = 0; i < used_rows_; ++i) {
    const Own old = own_[i];
    if (old.begin == old.end || old.begin > end || old.end < begin || old.end - old.begin > join_up_to) continue;
    begin = std::min(begin, old.begin);
    end = std::max(end, old.end);
    write(i, 0, 0);
  }
  for (row = 0; row < used_rows_ && own_[row].begin != own_[row].end;) ++row;
  if (row == ExposureTable::rows)
    row = static_cast<std::size_t>(
        std::min_element(own_.begin(), own_.end(), [](const Own& a, const Own& b) { return a.used < b.used; }) -
        own_.begin());
  used_rows_ = std::max(used_rows_, row + 1);
  write(row, begin, end);
  last_row_ = row;
  return Region::attachable(static_cast<unsigned>(row), at);
}

void Exposures::unmapped(const void* address, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = bytes > UINTPTR_MAX - begin ? UINTPTR_MAX : begin + bytes;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < used_rows_; ++i)
    if (own_[i].begin < end && begin < own_[i].end) write(i, 0, 0);
}

void Exposures::unmapped_all() noexcept {
  unmapped(nullptr, UINTPTR_MAX);
}

std::size_t Exposures::count() const noexcept {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(own_.begin(), own_.end(), [](const Own& each) { return each.begin != each.end; }));
}

}  // namespace tutti::memory
