#include "memory/attachments.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "memory/pages.h"

namespace tutti::memory {

void OperationClock::add(const Since& since) {
  const std::lock_guard lock(mutex_);
  operations_.push_back(&since);
}

void OperationClock::remove(const Since& since) {
  const std::lock_guard lock(mutex_);
  std::erase(operations_, &since);
}

std::uint64_t OperationClock::oldest() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const Since* each : operations_)
    // Pairs with the store at the end of an operation: its accesses are over.
    if (const std::uint64_t since = each->load(std::memory_order_acquire)) oldest = std::min(oldest, since);
  return oldest;
}

AttachmentStatistics& AttachmentStatistics::operator+=(const AttachmentStatistics& other) {
  hits += other.hits;
  misses += other.misses;
  evictions += other.evictions;
  stale += other.stale;
  attached += other.attached;
  most += other.most;
  return *this;
}

Attachments::~Attachments() {
  for (const Entry& entry : entries_) xpmem_.detach(entry.mapped);
  xpmem_.release(apid_);
}

AttachmentStatistics Attachments::statistics() const {
  const std::lock_guard lock(mutex_);
  AttachmentStatistics statistics = statistics_;
  statistics.attached = entries_.size();
  return statistics;
}

std::byte* Attachments::reach(Region region, std::size_t offset, std::size_t bytes) {
  const std::uint64_t address = region.address() + offset;
  // Never dereferenced, and perhaps past the end of the memory.
  if (bytes == 0) return reinterpret_cast<std::byte*>(address);
  const std::lock_guard lock(mutex_);
  drop_stale();
  Entry* entry = find(address, bytes, region.row());
  if (entry) {
    ++statistics_.hits;
  } else {
    std::size_t row = region.row();
    ExposureTable::Extent extent = table_.read(row);
    if (!extent.holds(address, bytes))
      for (row = 0; row < ExposureTable::rows; ++row)
        if ((extent = table_.read(row)).holds(address, bytes)) break;
    if (row < ExposureTable::rows) {
      entry = &attach(extent.begin, extent.end, row, extent.version);
    } else {
      // The owner has exposed so much meanwhile that the row was taken for something else.
      entry = &attach(address & ~(page_bytes() - 1), (address + bytes + page_bytes() - 1) & ~(page_bytes() - 1), none,
                      seen_changes_);
    }
  }
  // What an operation that runs has used carries a time at or after its beginning.
  entry->operation = clock_.now();
  entry->used = ++uses_;
  return entry->mapped + (address - entry->begin);
}

Attachments::Entry* Attachments::find(std::uint64_t address, std::size_t bytes, std::size_t row) {
  const auto good = [&](const Entry& entry) {
    return !entry.stale && entry.begin <= address && address + bytes <= entry.end &&
           (entry.row == none || table_.still(entry.row, entry.version));
  };
  if (const std::size_t at = entry_of_row_[row]; at != none && good(entries_[at])) return &entries_[at];
  const auto found = std::find_if(entries_.begin(), entries_.end(), good);
  return found == entries_.end() ? nullptr : &*found;
}

void Attachments::drop_stale() {
  const std::uint64_t changes = table_.changes.load(std::memory_order_acquire);
  if (changes == seen_changes_) return;
  seen_changes_ = changes;
  bool any = false;
  for (Entry& entry : entries_) {
    if (entry.stale || (entry.row != none && table_.still(entry.row, entry.version))) continue;
    entry.stale = any = true;
    if (entry.row != none) entry_of_row_[entry.row] = none;
    ++statistics_.stale;
  }
  if (any) make_room(SIZE_MAX);
}

Attachments::Entry& Attachments::attach(std::uint64_t begin, std::uint64_t end, std::size_t row,
                                        std::uint64_t version) {
  clock_.advance();
  make_room(capacity_ == 0 ? 0 : capacity_ - 1);
  const XpmemAddress address{apid_, static_cast<off_t>(begin)};
  const std::size_t bytes = end - begin;
  void* const refused = reinterpret_cast<void*>(std::intptr_t{-1});
  void* mapped = xpmem_.attach(address, bytes, nullptr);
  if (mapped == refused) {
    // The system may be out of mappings or memory: once more without what others have left.
    const int error = errno;
    make_room(0);
    mapped = xpmem_.attach(address, bytes, nullptr);
    if (mapped == refused) {
      char text[256];
      std::snprintf(text, sizeof text,
                    "xpmem_attach of %zu bytes at %#llx of a peer: %s; TUTTI_MECHANISM=^xpmem does without", bytes,
                    static_cast<unsigned long long>(begin), std::strerror(error));
      throw std::runtime_error(text);
    }
  }
  ++statistics_.misses;
  if (row != none) {
    // An older attachment of the row, if there is one, is stale: the table changed since drop_stale().
    if (const std::size_t old = entry_of_row_[row]; old != none) entries_[old].stale = true;
    entry_of_row_[row] = entries_.size();
  }
  entries_.push_back({static_cast<std::byte*>(mapped), begin, end, row, version, 0, 0, false});
  statistics_.most = std::max(statistics_.most, entries_.size());
  return entries_.back();
}

void Attachments::make_room(std::size_t keep) {
  const std::uint64_t oldest = clock_.oldest();
  for (std::size_t i = entries_.size(); i-- > 0;)
    if (entries_[i].stale && entries_[i].operation < oldest) detach(i);
  while (entries_.size() > keep) {
    std::size_t victim = none;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].operation >= oldest) continue;
      if (victim == none || entries_[i].used < entries_[victim].used) victim = i;
    }
    if (victim == none) return;
    ++statistics_.evictions;
    detach(victim);
  }
}

void Attachments::detach(std::size_t index) {
  Entry& entry = entries_[index];
  xpmem_.detach(entry.mapped);
  if (!entry.stale && entry.row != none) entry_of_row_[entry.row] = none;
  if (index + 1 != entries_.size()) {
    entry = entries_.back();
    if (!entry.stale && entry.row != none) entry_of_row_[entry.row] = index;
  }
  entries_.pop_back();
}

}  // namespace tutti::memory
