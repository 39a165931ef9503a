// What this rank has attached of a peer's memory: a bounded cache. An extent of the peer's table is attached whole,
// when it is first needed; it is detached when others need the room, or when the peer has taken it out of its table.
//
// A pointer stays valid until the end of the operation that asked for it: what a running operation may use is neither
// evicted nor, if it has become stale meanwhile, detached.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/exposures.h"
#include "memory/xpmem.h"

namespace tutti::memory {

/// Which operations of this rank run, for all its communicators and threads. Time advances with every attachment; an
/// operation notes when it began, an attachment when it was last used.
class OperationClock {
 public:
  using Since = std::atomic<std::uint64_t>;  ///< when a communicator's oldest running operation began; 0: none runs

  void add(const Since& since);
  void remove(const Since& since);
  std::uint64_t now() const { return now_.load(std::memory_order_relaxed); }
  void advance() { now_.fetch_add(1, std::memory_order_relaxed); }
  /// When the oldest of the running operations began; the largest number if none runs.
  std::uint64_t oldest() const;

 private:
  std::atomic<std::uint64_t> now_{1};
  mutable std::mutex mutex_;
  std::vector<const Since*> operations_;
};

struct AttachmentStatistics {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;     ///< calls of xpmem_attach
  std::uint64_t evictions = 0;  ///< detached to make room
  std::uint64_t stale = 0;      ///< given up because the owner had unmapped the memory, or arranged its table anew
  std::size_t attached = 0;     ///< now
  std::size_t most = 0;         ///< at once
  AttachmentStatistics& operator+=(const AttachmentStatistics& other);
};

/// Any thread may call it.
class Attachments {
 public:
  /// apid: from get_segment; released at the end. capacity: attachments that are kept.
  Attachments(const Xpmem& xpmem, std::int64_t apid, const ExposureTable& table, OperationClock& clock,
              std::size_t capacity)
      : xpmem_(xpmem), apid_(apid), table_(table), clock_(clock), capacity_(capacity) {
    entry_of_row_.fill(none);
  }
  /// Detaches everything.
  ~Attachments();
  Attachments(const Attachments&) = delete;
  Attachments& operator=(const Attachments&) = delete;

  /// Where `bytes` bytes at the region's address + offset are mapped here. Throws std::runtime_error if the system
  /// refuses.
  std::byte* reach(Region region, std::size_t offset, std::size_t bytes);
  AttachmentStatistics statistics() const;

 private:
  static constexpr std::size_t none = SIZE_MAX;
  struct Entry {
    std::byte* mapped = nullptr;
    std::uint64_t begin = 0, end = 0;
    std::size_t row = none;       ///< none: no extent of the table; not found again after the next change
    std::uint64_t version = 0;    ///< of the row; of the whole table if row is none
    std::uint64_t operation = 0;  ///< by the operations' clock
    std::uint64_t used = 0;       ///< by this cache's own
    bool stale = false;
  };
  Entry* find(std::uint64_t address, std::size_t bytes, std::size_t row);
  Entry& attach(std::uint64_t begin, std::uint64_t end, std::size_t row, std::uint64_t version);
  void drop_stale();
  /// Detaches what is stale, then the least recently used down to `keep`; nothing that may be in use.
  void make_room(std::size_t keep);
  void detach(std::size_t entry);

  const Xpmem xpmem_;
  const std::int64_t apid_;
  const ExposureTable& table_;
  OperationClock& clock_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::array<std::size_t, ExposureTable::rows> entry_of_row_;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t uses_ = 0;
  AttachmentStatistics statistics_;
};

}  // namespace tutti::memory
