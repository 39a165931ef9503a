#include "partitioned/sides.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/copy.h"

namespace tutti::partitioned {

namespace {

/// Whether peers may load and store there; not what only the kernel reaches.
bool is_mapped(memory::Region region) {
  return region.loads_and_stores();
}

std::size_t sender_bytes(const Partitions& partitions) {
  return sizeof(SenderLine) + static_cast<std::size_t>(partitions.count) * sizeof(sync::Flag);
}

}  // namespace

Side::Side(Node& node, Announcements& announcements, int peer, const Envelope& envelope, Role role,
           const Partitions& partitions, std::size_t block_bytes)
    : node_(node), announcements_(announcements), peer_(peer), partitions_(partitions) {
  const std::optional<std::size_t> block = node.arena->allocate(block_bytes);
  if (!block) throw std::runtime_error("the shared memory of this rank is full");
  mine_ = {envelope, 0, role, *block, static_cast<std::uint64_t>(partitions.count), partitions.bytes};
  try {
    announcements.introduce(peer, mine_);
  } catch (...) {
    node.arena->release(*block);
    throw;
  }
  if (node.operations) node.operations->add(since_);
}

void Side::leave(std::optional<std::size_t> more) {
  if (node_.operations) node_.operations->remove(since_);
  memory::Arena& arena = *node_.arena;
  const std::size_t block = mine_.block;
  announcements_.leave(peer_, mine_, [&arena, block, more] {
    arena.release(block);
    if (more) arena.release(*more);
  });
}

void Side::begin() {
  if (node_.operations) since_.store(node_.operations->now(), std::memory_order_relaxed);
  starts_.store(starts() + 1, std::memory_order_relaxed);
}

void Side::end() {
  since_.store(0, std::memory_order_release);
}

Sender::Sender(Node& node, Announcements& announcements, int peer, const Envelope& envelope, const std::byte* buffer,
               const Partitions& partitions, const Policy& policy)
    : Side(node, announcements, peer, envelope, Role::sender, partitions, sender_bytes(partitions)),
      buffer_(buffer),
      policy_(policy),
      line_(reinterpret_cast<SenderLine*>(block())),
      flags_(reinterpret_cast<sync::Flag*>(block() + sizeof(SenderLine))) {}

Sender::~Sender() {
  leave(staging_);
}

void Sender::start() {
  begin();
  marked_.store(0, std::memory_order_relaxed);
  left_.store(0, std::memory_order_relaxed);
  const std::size_t bytes = partitions_.all();
  memory::Region region = node_.reachable(buffer_, bytes);
  const bool is_none = region.kind() == memory::Kind::none;
  staged_ = bytes > 0 && !is_mapped(region) && (is_none || (node_.may_stage && bytes <= policy_.staged_bytes_max));
  if (staged_ && !staging_) staging_ = node_.arena->allocate(bytes);
  staged_ = staged_ && staging_;
  if (staged_)
    region = {memory::Kind::arena, *staging_};
  else if (is_none)
    region = {memory::Kind::cma, reinterpret_cast<std::uintptr_t>(buffer_)};  // the receiver asks for it
  line_->region.store(region.bits(), std::memory_order_relaxed);
  meet();
}

bool Sender::meet() {
  if (theirs_.load(std::memory_order_relaxed)) return true;
  const std::optional<Announcement> found = find();
  if (!found) return false;
  their_bytes_ = found->partitions * found->partition_bytes;
  theirs_.store(reinterpret_cast<const ReceiverLines*>(other().in_arena(found->block, sizeof(ReceiverLines))),
                std::memory_order_release);
  return true;
}

/// Copies the partition to where it belongs, if this thread can, and should. If not, it is ready to be copied by the
/// receiver.
bool Sender::deliver(std::size_t partition) {
  const std::size_t at = partition * partitions_.bytes;
  const ReceiverLines* const theirs = theirs_.load(std::memory_order_acquire);
  const bool has_started = theirs && theirs->started.get() >= starts();
  const memory::Region region =
      has_started ? memory::Region::from_bits(theirs->region.load(std::memory_order_relaxed)) : memory::Region();
  if (has_started && at >= their_bytes_) return true;
  if (!is_mapped(region)) {
    if (staged_) copy_bytes(node_.arena->base() + *staging_ + at, buffer_ + at, partitions_.bytes);
    return false;
  }
  if (!staged_ && partitions_.bytes >= policy_.left_bytes_min) {
    const sync::Stamp copied = theirs->copied.get();
    const std::uint64_t of_these = copied >> sync::progress_bits == starts() ? copied & sync::progress_max : 0;
    if (left_.load(std::memory_order_relaxed) < of_these + policy_.left_at_once) return false;
  }
  other().copy_to(region, at, buffer_ + at, std::min(partitions_.bytes, their_bytes_ - at));
  return true;
}

bool Sender::mark(int partition) {
  if (is_marked(partition)) return false;
  const bool delivered = deliver(static_cast<std::size_t>(partition));
  if (!delivered) left_.fetch_add(1, std::memory_order_relaxed);
  // Pairs with the receiver's load in progress() and is_there().
  flags_[partition].set(2 * starts() + (delivered ? 1 : 0));
  wake();
  marked_.fetch_add(1, std::memory_order_release);
  return true;
}

bool Sender::progress() {
  const bool has_met = meet();
  if (marked_.load(std::memory_order_acquire) < partitions_.count) return false;
  if (left_.load(std::memory_order_relaxed) > 0) {
    if (!has_met || theirs_.load(std::memory_order_relaxed)->finished.get() < starts()) return false;
  }
  end();
  return true;
}

Receiver::Receiver(Node& node, Announcements& announcements, int peer, const Envelope& envelope, std::byte* buffer,
                   const Partitions& partitions)
    : Side(node, announcements, peer, envelope, Role::receiver, partitions, sizeof(ReceiverLines)),
      buffer_(buffer),
      lines_(reinterpret_cast<ReceiverLines*>(block())) {}

Receiver::~Receiver() {
  leave(std::nullopt);
}

void Receiver::start() {
  begin();
  copied_ = 0;
  const memory::Region region = node_.reachable(buffer_, partitions_.all());
  lines_->region.store(region.bits(), std::memory_order_relaxed);
  // Pairs with the sender's load in deliver().
  lines_->started.set(starts());
  open_.clear();
  if (meet())
    for (int i = 0; i < sent_.count; ++i) open_.push_back(static_cast<std::uint32_t>(i));
}

bool Receiver::meet() {
  if (theirs_.load(std::memory_order_relaxed)) return true;
  const std::optional<Announcement> found = find();
  if (!found) return false;
  sent_ = {static_cast<int>(found->partitions), found->partition_bytes};
  const auto count = static_cast<std::size_t>(sent_.count);
  got_ = std::make_unique<std::atomic<std::uint64_t>[]>(count);
  open_.reserve(count);
  theirs_.store(other().in_arena(found->block, sender_bytes(sent_)), std::memory_order_release);
  return true;
}

void Receiver::copy(std::size_t i) {
  const auto* const line = reinterpret_cast<const SenderLine*>(theirs_.load(std::memory_order_relaxed));
  const std::size_t at = i * sent_.bytes;
  const std::size_t room = partitions_.all();
  if (at < room)
    other().copy_from(memory::Region::from_bits(line->region.load(std::memory_order_relaxed)), at, buffer_ + at,
                      std::min(sent_.bytes, room - at));
  lines_->copied.set(sync::stamp(starts(), std::min<std::uint64_t>(++copied_, sync::progress_max)));
}

bool Receiver::progress() {
  if (!theirs_.load(std::memory_order_relaxed)) {
    if (!meet()) return false;
    for (int i = 0; i < sent_.count; ++i) open_.push_back(static_cast<std::uint32_t>(i));
  }
  const auto* const flags =
      reinterpret_cast<const sync::Flag*>(theirs_.load(std::memory_order_relaxed) + sizeof(SenderLine));
  const std::uint64_t now = starts();
  std::erase_if(open_, [&](std::uint32_t i) {
    const std::uint64_t flag = flags[i].get();
    if (flag < 2 * now) return false;
    if (flag == 2 * now) copy(i);
    got_[i].store(now, std::memory_order_release);
    return true;
  });
  if (!open_.empty()) return false;
  end();
  // Pairs with the sender's load in progress().
  lines_->finished.set(now);
  wake();
  return true;
}

bool Receiver::is_there(std::size_t i) const {
  if (got_[i].load(std::memory_order_acquire) == starts()) return true;
  const auto* const flags =
      reinterpret_cast<const sync::Flag*>(theirs_.load(std::memory_order_relaxed) + sizeof(SenderLine));
  return flags[i].get() > 2 * starts();
}

bool Receiver::has_arrived(int partition) const {
  if (!theirs_.load(std::memory_order_acquire)) return false;
  const auto count = static_cast<std::size_t>(sent_.count);
  const std::size_t begin = static_cast<std::size_t>(partition) * partitions_.bytes;
  const std::size_t end = begin + partitions_.bytes;
  std::size_t first = 0, last = count;
  // What was not sent has come when all has.
  if (sent_.bytes > 0 && begin < end && begin < sent_.all()) {
    first = begin / sent_.bytes;
    last = std::min(count, (end + sent_.bytes - 1) / sent_.bytes);
  }
  for (std::size_t i = first; i < last; ++i)
    if (!is_there(i)) return false;
  return true;
}

}  // namespace tutti::partitioned
