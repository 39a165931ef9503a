#include "engine/remains.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "engine/shared.h"

namespace tutti {

namespace {

/// Makes zero what `traces` says may be something else, but for the data areas. pending: of the channel for such.
void wipe(std::byte* part, std::byte* pending, std::uint8_t traces) {
  if (traces <= Traces::none().byte()) return;
  const std::uint64_t operations = traces - Traces::none().byte();
  if (traces == Traces::anywhere().byte()) std::memset(pending, 0, sizeof(Shared));
  if (operations >= ring_slots) {
    std::memset(part, 0, sizeof(Shared));
    return;
  }
  std::memset(part, 0, offsetof(Shared, slots));
  for (std::uint64_t sequence = 1; sequence <= operations; ++sequence)
    std::memset(part + offsetof(Shared, slots) + place_in_ring(sequence, ring_slots) * sizeof(Slot), 0, sizeof(Slot));
}

}  // namespace

Remains::Row* Remains::row_of(const Node& node, const CommunicatorLayout& layout, int owner) {
  const auto i = static_cast<std::size_t>(owner);
  const memory::Peer& peer = node.peers[static_cast<std::size_t>(layout.node_ranks[i])];
  return reinterpret_cast<Row*>(peer.in_arena(layout.rows[i], layout.node_ranks.size()));
}

Remains::Remains(Node& node, const CommunicatorLayout& layout, Traces traces, bool opened,
                 std::vector<std::size_t> staging)
    : node_(&node),
      part_(layout.offsets[static_cast<std::size_t>(layout.rank)]),
      row_(layout.rows[static_cast<std::size_t>(layout.rank)]),
      ranks_(static_cast<int>(layout.node_ranks.size())),
      opened_(opened),
      staging_(std::move(staging)) {
  // Pairs with the loads in unused().
  for (int owner = 0; owner < ranks_; ++owner)
    row_of(node, layout, owner)[layout.rank].store(traces.byte(), std::memory_order_release);
}

bool Remains::unused() const {
  const std::span row(reinterpret_cast<const Row*>(node_->arena->base() + row_), static_cast<std::size_t>(ranks_));
  return std::all_of(row.begin(), row.end(), [](const Row& each) { return each.load(std::memory_order_acquire) != 0; });
}

void Remains::give_back() const {
  memory::Arena& arena = *node_->arena;
  const std::span row(reinterpret_cast<const Row*>(arena.base() + row_), static_cast<std::size_t>(ranks_));
  std::uint8_t traces = 0;
  for (const Row& each : row) traces = std::max(traces, each.load(std::memory_order_relaxed));
  std::byte* const part = arena.base() + part_;
  if (opened_) wipe(part, part + channel_bytes(node_->settings, ranks_), traces);
  const bool tidy = opened_ || traces == Traces::none().byte();
  arena.release(part_, tidy ? memory::Arena::Contents::tidy : memory::Arena::Contents::unknown);
  for (const std::size_t offset : staging_) arena.release(offset, memory::Arena::Contents::used);
  node_->rows->release(row_);
}

void LeftBehind::add(Remains remains) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(remains));
  count_.store(all_.size(), std::memory_order_relaxed);
}

void LeftBehind::look(std::size_t failures) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t looks = std::min(failures, all_.size()); looks > 0 && !all_.empty(); --looks) {
    if (next_ >= all_.size()) next_ = 0;
    while (next_ < all_.size() && all_[next_].unused()) {
      all_[next_].give_back();
      all_[next_] = std::move(all_.back());
      all_.pop_back();
    }
    ++next_;
  }
  count_.store(all_.size(), std::memory_order_relaxed);
}

}  // namespace tutti
