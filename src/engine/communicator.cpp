#include "engine/communicator.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <span>

namespace tutti {

namespace {

constexpr std::size_t page_bytes = 4096;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// "64K" or "16K,64K": one chunk a level, the last one for all that follow. Empty if malformed.
std::vector<std::size_t> parse_chunks(std::string_view text) {
  std::vector<std::size_t> chunks;
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::size_t bytes = 0;
    if (!parse_bytes(text.substr(0, comma), bytes) || bytes == 0) return {};
    chunks.push_back(round_up(bytes, grain_bytes));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return chunks;
}

/// Where nothing else is said: large enough that a chunk costs many flag hops, small enough for the second-level cache.
constexpr std::size_t default_chunk_bytes = std::size_t{128} * 1024;

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

std::size_t shared_bytes(const Settings& settings, int ranks) {
  return sizeof(Shared) + data_areas * slot_bytes_of(settings, ranks) +
         static_cast<std::size_t>(ranks) * sizeof(sync::Flag);
}

Communicator::Communicator(Node& node, CommunicatorLayout layout)
    : Party(layout.identity),
      node_(node),
      rank_(layout.rank),
      size_(static_cast<int>(layout.node_ranks.size())),
      node_ranks_(std::move(layout.node_ranks)),
      own_offset_(layout.offsets[static_cast<std::size_t>(layout.rank)]),
      slot_bytes_(slot_bytes_of(node.settings, size_)),
      sources_(static_cast<std::size_t>(size_)),
      destinations_(static_cast<std::size_t>(size_)),
      placement_(topology::subset(node.placement, node_ranks_)) {
  for (int rank = 0; rank < size_; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    const memory::Peer& peer = node.peers[static_cast<std::size_t>(node_ranks_[i])];
    peers_.push_back(&peer);
    shared_.push_back(reinterpret_cast<Shared*>(peer.arena + layout.offsets[i]));
  }
  std::string error;
  const auto spec = topology::parse_levels(node.settings.hierarchy, error);
  levels_ = topology::choose_levels(spec.value_or(topology::LevelSpec{true, {}}), placement_);
  const topology::Hierarchy hierarchy = topology::build(placement_, levels_, 0);
  depth_ = std::max<int>(1, static_cast<int>(hierarchy.levels.size()));
  distances_ = topology::distances(placement_, hierarchy);
  if (node.settings.chunk != "auto") chunk_of_level_ = parse_chunks(node.settings.chunk);
  if (chunk_of_level_.empty()) chunk_of_level_.push_back(default_chunk_bytes);
  if (node.operations) node.operations->add(running_since_);
}

Communicator::~Communicator() {
  if (node_.operations) node_.operations->remove(running_since_);
  if (has_parted_) return;
  for (const Staging& staging : staging_)
    if (staging.bytes) node_.arena->release(staging.offset);
  node_.arena->release(own_offset_);
}

Remains Communicator::part() {
  has_parted_ = true;
  Remains remains{{own_offset_}, parted(rank_), size_};
  for (const Staging& staging : staging_)
    if (staging.bytes) remains.offsets.push_back(staging.offset);
  for (int owner = 0; owner < size_; ++owner) parted(owner)[rank_].set(1);
  return remains;
}

memory::Region Communicator::arena_region(const std::byte* in_own_arena) const {
  return {memory::Kind::arena, static_cast<std::uint64_t>(in_own_arena - node_.arena->base())};
}

memory::Region Communicator::slot_region(std::uint64_t sequence) const {
  return {memory::Kind::arena, own_offset_ + sizeof(Shared) + place_in_ring(sequence, data_areas) * slot_bytes_};
}

std::uint64_t Communicator::begin(std::uint64_t in_flight) {
  if (closed()) [[unlikely]]
    stay_out();
  const std::uint64_t sequence = ++sequence_;
  if (sequence != call_begin_) announced_ |= signature_continues;
  if (node_.operations && running_++ == 0) running_since_.store(node_.operations->now(), std::memory_order_relaxed);
  if (sequence > in_flight && all_completed_ < sequence - in_flight) wait_for_all(sequence - in_flight);
  slot(rank_, sequence).post.signature.set(signature(sequence));
  return sequence;
}

void Communicator::wait_for_all(std::uint64_t sequence_left) {
  std::uint64_t lowest = sequence_ - 1;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const sync::Flag& completed = shared_[static_cast<std::size_t>(rank)]->completed.flag[0];
    if (!completed.has(sync::stamp(sequence_left))) {
      const sync::WaitReason reason{current_collective, this, sequence_, node_rank(rank)};
      sync::wait(*node_.waiter, reason, [&] { return completed.has(sync::stamp(sequence_left)); });
    }
    lowest = std::min(lowest, completed.get() >> sync::progress_bits);
  }
  all_completed_ = lowest;
}

Communicator::Lead Communicator::lead(Ways& ways, int count) {
  const int before = common_way();
  const int way = way_is_new_ ? before : node_.oversubscribed ? ways.next_of_run(count) : ways.next(count);
  way_is_new_ = way != before;
  if (way_is_new_) shared_[0]->ways.flag[0].set(static_cast<sync::Stamp>(way));
  return {way, !way_is_new_};
}

std::byte* Communicator::staging(int which, std::size_t bytes) {
  Staging& staging = staging_[static_cast<std::size_t>(which)];
  if (staging.bytes < bytes) {
    if (staging.bytes) node_.arena->release(staging.offset);
    staging = {};
    const auto offset = node_.arena->allocate(bytes);
    if (!offset) throw std::bad_alloc();
    staging = {*offset, bytes};
  }
  return node_.arena->base() + staging.offset;
}

const topology::RankPlan& Communicator::plan(int root, Grouping grouping) {
  auto& plans = plans_[static_cast<std::size_t>(grouping)];
  if (plans.empty()) plans.resize(static_cast<std::size_t>(size_));
  auto& plan = plans[static_cast<std::size_t>(root)];
  if (!plan) {
    static constexpr topology::LevelKind sockets[] = {topology::LevelKind::socket};
    const std::span<const topology::LevelKind> levels =
        grouping == Grouping::by_socket ? std::span<const topology::LevelKind>(sockets) : levels_;
    plan = std::make_unique<topology::RankPlan>(topology::plan(topology::build(placement_, levels, root), rank_));
  }
  return *plan;
}

const topology::RankBlocks& Communicator::rank_blocks() {
  if (!rank_blocks_) rank_blocks_ = topology::rank_blocks(topology::build(placement_, levels_, 0));
  return *rank_blocks_;
}

std::size_t Communicator::chunk_bytes(int level) const {
  const auto i = std::min(static_cast<std::size_t>(level), chunk_of_level_.size() - 1);
  return chunk_of_level_[i];
}

}  // namespace tutti
