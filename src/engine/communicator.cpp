#include "engine/communicator.h"

#include <algorithm>
#include <cstring>
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

std::size_t shared_bytes(const Settings& settings, int ranks) {
  return sizeof(Shared) + data_areas * slot_bytes_of(settings, ranks);
}

Communicator::Communicator(Node& node, CommunicatorLayout layout, std::shared_ptr<Arrangement> arrangement)
    : Party(layout.identity),
      node_(node),
      rank_(layout.rank),
      size_(static_cast<int>(layout.node_ranks.size())),
      layout_(std::move(layout)),
      arrangement_(std::move(arrangement)),
      slot_bytes_(slot_bytes_of(node.settings, size_)),
      sources_(static_cast<std::size_t>(size_)),
      destinations_(static_cast<std::size_t>(size_)) {
  if (!arrangement_)
    arrangement_ = std::make_shared<Arrangement>(node.settings, node.placement, layout_.node_ranks, rank_);
  if (!node.arena->open(own_offset())) throw std::bad_alloc();
  for (int rank = 0; rank < size_; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    const memory::Peer& peer = node.peers[static_cast<std::size_t>(layout_.node_ranks[i])];
    peers_.push_back(&peer);
    shared_.push_back(reinterpret_cast<Shared*>(peer.in_arena(layout_.offsets[i], shared_bytes(node.settings, size_))));
  }
  if (node.operations) node.operations->add(running_since_);
}

Communicator::~Communicator() {
  if (node_.operations) node_.operations->remove(running_since_);
  if (has_parted_) return;
  for (const Staging& staging : staging_)
    if (staging.bytes) node_.arena->release(staging.offset);
  node_.arena->release(own_offset());
}

Remains Communicator::part() {
  has_parted_ = true;
  std::vector<std::size_t> staging;
  for (const Staging& each : staging_)
    if (each.bytes) staging.push_back(each.offset);
  return {node_, layout_, traces(), true, std::move(staging)};
}

Traces Communicator::traces() const {
  if (closed() || has_tried_) return Traces::anywhere();
  // Before an operation a rank may say something in its slot already.
  const bool nothing = sequence_ == 0 && left(rank_, Left::given).get() == 0;
  return nothing ? Traces::none() : Traces::of(std::min(sequence_ + 1, ring_slots));
}

memory::Region Communicator::arena_region(const std::byte* in_own_arena) const {
  return {memory::Kind::arena, static_cast<std::uint64_t>(in_own_arena - node_.arena->base())};
}

memory::Region Communicator::slot_region(std::uint64_t sequence) const {
  return {memory::Kind::arena, own_offset() + sizeof(Shared) + place_in_ring(sequence, data_areas) * slot_bytes_};
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

bool Communicator::exchange(const void* mine, std::size_t bytes, void* all) {
  constexpr std::uint16_t no_algorithm = 0xffff;
  current_collective = "making a communicator";
  announce(no_algorithm, bytes);
  std::uint64_t sequence = 0;
  try {
    sequence = begin(ring_slots);
  } catch (const Disagreement&) {
    return false;
  }
  Post& post = slot(rank_, sequence).post;
  std::memcpy(post.payload, mine, bytes);
  post.flag.set(sync::stamp(sequence, 1));
  published();
  bool complete_set = true;
  for (int rank = 0; rank < size_; ++rank) {
    const Post& theirs = slot(rank, sequence).post;
    // Nobody leaves what has begun: a rank that has not begun says that it never will, one that has can be taken at its
    // word. So all find the same, whenever they look.
    const auto has_come = [&] { return theirs.flag.has(sync::stamp(sequence, 1)); };
    const auto is_known = [&] { return has_come() || left(rank, Left::communicator).get() != 0; };
    const sync::WaitReason reason{current_collective, nullptr, sequence, node_rank(rank)};
    sync::wait(*node_.waiter, reason, is_known);
    if (has_come())
      std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(rank) * bytes, theirs.payload, bytes);
    else
      complete_set = false;
  }
  complete(sequence);
  return complete_set;
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
    const auto offset = node_.arena->allocate(sizeof(memory::Filled) + bytes);
    if (!offset) throw std::bad_alloc();
    staging = {*offset, bytes};
  }
  return node_.arena->base() + staging.offset + sizeof(memory::Filled);
}

}  // namespace tutti
