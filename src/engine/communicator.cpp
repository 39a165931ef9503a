#include "engine/communicator.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tutti {

namespace {

constexpr std::size_t page_bytes = 4096;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

/// A data area holds a small message, 16 bytes about each rank, or a quarter of a small message for each of up to 16
/// ranks: who sends small blocks to all then waits for nobody. Those larger than a small message are an odd number of
/// pages, so that areas of which only the beginning is used do not push each other out of a cache.
std::size_t slot_bytes_of(const Settings& settings, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t blocks = settings.eager_max / 4 * std::min(count, std::size_t{16});
  const std::size_t bytes = round_up(std::max({settings.eager_max, 16 * count, blocks}), page_bytes);
  return blocks > settings.eager_max ? bytes | page_bytes : bytes;
}

std::size_t channel_bytes(const Settings& settings, int ranks) {
  return sizeof(Shared) + data_areas * slot_bytes_of(settings, ranks);
}

std::size_t shared_bytes(const Settings& settings, int ranks) {
  return 2 * channel_bytes(settings, ranks);
}

Communicator::Communicator(Node& node, CommunicatorLayout layout, std::shared_ptr<Arrangement> arrangement,
                           Communicator* beside)
    : node_(node),
      rank_(layout.rank),
      size_(static_cast<int>(layout.node_ranks.size())),
      layout_(std::move(layout)),
      arrangement_(arrangement
                       ? std::move(arrangement)
                       : std::make_shared<Arrangement>(node.settings, node.placement, layout_.node_ranks, rank_)),
      slot_bytes_(slot_bytes_of(node.settings, size_)),
      blocking_(*this, Channel::Kind::blocking, shared_from(0), own_offset()),
      pending_(*this, Channel::Kind::pending, shared_from(channel_bytes(node.settings, size_)),
               own_offset() + channel_bytes(node.settings, size_)),
      own_workspaces_(node, size_),
      workspaces_(beside ? beside->workspaces_ : own_workspaces_) {
  if (!node.arena->open(own_offset())) throw std::bad_alloc();
  for (const int rank : layout_.node_ranks) peers_.push_back(&node.peers[static_cast<std::size_t>(rank)]);
  if (node.operations) node.operations->add(running_since_);
}

Communicator::~Communicator() {
  if (node_.operations) node_.operations->remove(running_since_);
  if (has_parted_) return;
  for (const std::size_t offset : staging()) node_.arena->release(offset);
  node_.arena->release(own_offset());
}

std::vector<Shared*> Communicator::shared_from(std::size_t bytes) const {
  std::vector<Shared*> shared;
  for (std::size_t i = 0; i < layout_.node_ranks.size(); ++i) {
    const memory::Peer& peer = node_.peers[static_cast<std::size_t>(layout_.node_ranks[i])];
    shared.push_back(
        reinterpret_cast<Shared*>(peer.in_arena(layout_.offsets[i] + bytes, channel_bytes(node_.settings, size_))));
  }
  return shared;
}

int Communicator::rank_of(int node_rank) const {
  const auto found = std::find(layout_.node_ranks.begin(), layout_.node_ranks.end(), node_rank);
  return found == layout_.node_ranks.end() ? -1 : static_cast<int>(found - layout_.node_ranks.begin());
}

std::vector<std::size_t> Communicator::staging() {
  std::vector<std::size_t> offsets;
  blocking_.workspace().list_staging(offsets);
  own_workspaces_.list_staging(offsets);
  return offsets;
}

Remains Communicator::part() {
  has_parted_ = true;
  const bool only_blocking = pending_.sequence() == 0;
  return {node_, layout_, only_blocking ? blocking_.traces() : Traces::anywhere(), true, staging()};
}

void Communicator::revoke() {
  blocking_.revoke();
  pending_.revoke();
}

void Communicator::fail(int kind) {
  blocking_.fail(kind);
  pending_.fail(kind);
}

memory::Region Communicator::arena_region(const std::byte* in_own_arena) const {
  return {memory::Kind::arena, static_cast<std::uint64_t>(in_own_arena - node_.arena->base())};
}

}  // namespace tutti
