#include "partitioned/sides.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/copy.h"
#include "base/ticks.h"

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

Side::Side(Node& node, Announcements& announcements, const Message& message, Role role, std::size_t block_bytes)
    : node_(node),
      announcements_(announcements),
      peer_(message.peer),
      partitions_(message.partitions),
      policy_(message.policy) {
  const std::optional<std::size_t> block = node.arena->allocate_used(block_bytes);
  if (!block) throw ArenaFull();
  std::memset(node.arena->base() + *block, 0, block_bytes);
  mine_ = {message.envelope, 0, role, *block, static_cast<std::uint64_t>(partitions_.count), partitions_.bytes};
  if (node.operations) node.operations->add(since_);
}

void Side::introduce() {
  announcements_.introduce(peer_, mine_);
  is_introduced_ = true;
}

void Side::leave(std::optional<std::size_t> more) {
  if (node_.operations) node_.operations->remove(since_);
  memory::Arena& arena = *node_.arena;
  const std::size_t block = mine_.block;
  const auto give_back = [&arena, block, more] {
    arena.release(block, memory::Arena::Contents::used);
    if (more) arena.release(*more, memory::Arena::Contents::used);
  };
  if (is_introduced_)
    announcements_.leave(peer_, mine_, give_back);
  else
    give_back();
}

void Side::begin() {
  if (node_.operations) since_.store(node_.operations->now(), std::memory_order_relaxed);
  starts_.store(starts() + 1, std::memory_order_relaxed);
}

void Side::end() {
  since_.store(0, std::memory_order_release);
}

Sender::Sender(Node& node, Announcements& announcements, const Message& message, const std::byte* buffer)
    : Side(node, announcements, message, Role::sender, sender_bytes(message.partitions)),
      buffer_(buffer),
      line_(reinterpret_cast<SenderLine*>(block())),
      flags_(reinterpret_cast<sync::Flag*>(block() + sizeof(SenderLine))) {}

Sender::~Sender() {
  leave(staging_);
}

void Sender::start() {
  meet();  // before anything is said to the other side: it may find no memory
  begin();
  left_before_ = line_->left.load(std::memory_order_relaxed);
  left_.store(left_before_, std::memory_order_relaxed);
  seen_ = 0;
  seen_left_ = 0;
  const std::size_t bytes = partitions_.all();
  memory::Region region = node_.reachable(buffer_, bytes);
  const bool is_none = region.kind() == memory::Kind::none;
  staged_ = bytes > 0 && !is_mapped(region) && (is_none || is_better_staged());
  if (staged_ && !staging_) staging_ = node_.arena->allocate_used(bytes);
  staged_ = staged_ && staging_;
  if (staged_)
    region = {memory::Kind::arena, *staging_};
  else if (is_none)
    region = {memory::Kind::cma, reinterpret_cast<std::uintptr_t>(buffer_)};  // the receiver asks for it
  line_->region.store(region.bits(), std::memory_order_relaxed);
  line_->started.set(starts());
}

/// Where the kernel would reach it.
bool Sender::is_better_staged() const {
  const std::size_t bytes = partitions_.all();
  const bool is_for_kernel = bytes >= policy_.kernel_bytes_least && bytes <= policy_.kernel_bytes_most;
  return node_.may_stage && !is_for_kernel && bytes <= policy_.staged_bytes_max;
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
  const std::size_t bytes = std::min(partitions_.bytes, their_bytes_ - at);
  // What this thread cannot store to the receiver copies: marking waits for nobody.
  std::byte* const there = is_mapped(region) ? other().pointer(region, at, bytes) : nullptr;
  if (!there) {
    if (staged_) copy_bytes(node_.arena->base() + *staging_ + at, buffer_ + at, partitions_.bytes);
    return false;
  }
  if (!staged_ && partitions_.bytes >= policy_.left_least) {
    const auto open = static_cast<std::int64_t>(left_.load(std::memory_order_relaxed) - theirs->copied.get());
    if (open <= 0 || (static_cast<std::size_t>(open) + 1) * partitions_.bytes <= policy_.left_bytes) return false;
  }
  copy_bytes(there, buffer_ + at, bytes);
  other().stored(bytes);
  return true;
}

/// Tells the receiver now and then: it takes the line from this thread each time.
void Sender::leave_one() {
  const std::uint64_t left = left_.load(std::memory_order_relaxed) + 1;
  left_.store(left, std::memory_order_relaxed);
  const std::uint64_t in_this = left - left_before_;
  const std::size_t bytes = in_this * partitions_.bytes;
  if (bytes / policy_.told_bytes != (bytes - partitions_.bytes) / policy_.told_bytes)
    // After the start: pairs with the receiver's load in progress().
    line_->left.store(left, std::memory_order_release);
}

bool Sender::mark(int partition) {
  if (is_marked(partition)) return false;
  const std::uint64_t now = starts();
  const bool delivered = deliver(static_cast<std::size_t>(partition));
  if (!delivered) leave_one();
  const Node& node = node_;
  const int peer = peer_;
  // Pairs with the receiver's loads in copy_what_is_left() and is_there(). This side may be over from then on.
  flags_[partition].set(2 * now + (delivered ? 1 : 0));
  if (node.waiter->sleepers_possible) node.waiter->wake(&peer, 1);
  return true;
}

bool Sender::progress() {
  const bool has_met = meet();
  const std::uint64_t now = starts();
  if (line_->all_marked.get() < now) {
    for (; seen_ < partitions_.count; ++seen_) {
      const std::uint64_t value = flags_[seen_].get();
      if (value < 2 * now) return false;
      seen_left_ += value == 2 * now;
    }
    line_->left.store(left_before_ + seen_left_, std::memory_order_relaxed);
    line_->all_marked.set(now);
    wake();
  }
  const std::uint64_t left = line_->left.load(std::memory_order_relaxed);
  if (left > left_before_ && (!has_met || theirs_.load(std::memory_order_relaxed)->copied.get() < left)) return false;
  end();
  return true;
}

Receiver::Receiver(Node& node, Announcements& announcements, const Message& message, std::byte* buffer)
    : Side(node, announcements, message, Role::receiver, sizeof(ReceiverLines)),
      buffer_(buffer),
      lines_(reinterpret_cast<ReceiverLines*>(block())) {}

Receiver::~Receiver() {
  leave(std::nullopt);
}

void Receiver::start() {
  meet();  // before anything is said to the other side: it may find no memory
  begin();
  is_open_known_ = false;
  looked_ = ticks();
  is_asked_.store(false, std::memory_order_relaxed);
  const memory::Region region = node_.reachable(buffer_, partitions_.all());
  lines_->region.store(region.bits(), std::memory_order_relaxed);
  // Pairs with the sender's load in deliver().
  lines_->started.set(starts());
}

bool Receiver::meet() {
  if (theirs_.load(std::memory_order_relaxed)) return true;
  const std::optional<Announcement> found = find();
  if (!found) return false;
  sent_ = {static_cast<int>(found->partitions), found->partition_bytes};
  got_ = std::make_unique<std::atomic<std::uint64_t>[]>(static_cast<std::size_t>(sent_.count));
  theirs_.store(other().in_arena(found->block, sender_bytes(sent_)), std::memory_order_release);
  return true;
}

/// Copies the partitions from `first` on, which lie one behind the other.
bool Receiver::copy(std::size_t first, std::size_t count) {
  const std::size_t at = first * sent_.bytes;
  const std::size_t room = partitions_.all();
  first_ = first;
  count_ = count;
  if (at < room)
    memory::PeerTransfers{other(), transfers_}.copy_from(
        memory::Region::from_bits(line().region.load(std::memory_order_relaxed)), at, buffer_ + at,
        std::min(count * sent_.bytes, room - at));
  if (!transfers_.over()) return false;
  has_copied();
  return true;
}

void Receiver::has_copied() {
  for (std::size_t i = first_; i < first_ + count_; ++i) got_[i].store(starts(), std::memory_order_release);
  copied_ += count_;
  count_ = 0;
}

void Receiver::copy_what_is_left() {
  const std::uint64_t left = 2 * starts();
  const std::uint64_t before = copied_;
  if (!is_open_known_) {
    open_.resize(static_cast<std::size_t>(sent_.count));
    std::iota(open_.begin(), open_.end(), 0u);
    is_open_known_ = true;
  }
  std::size_t untold = 0, still_open = 0;
  for (std::size_t at = 0; at < open_.size();) {
    const std::uint32_t first = open_[at];
    const std::uint64_t value = flag(first).get();
    if (value < left) open_[still_open++] = first;
    if (value != left) {
      ++at;
      continue;
    }
    // A call of the kernel for as many as there are; the others are told of each part that is copied.
    const bool by_kernel = !is_mapped(memory::Region::from_bits(line().region.load(std::memory_order_relaxed)));
    std::uint32_t count = 1;
    while (at + count < open_.size() && (by_kernel || count * sent_.bytes < policy_.told_bytes) &&
           open_[at + count] == first + count && flag(first + count).get() == left)
      ++count;
    const bool is_there = copy(first, count);
    at += count;
    if (!is_there) {
      while (at < open_.size()) open_[still_open++] = open_[at++];
      break;
    }
    untold += count * sent_.bytes;
    if (untold < policy_.told_bytes) continue;
    untold = 0;
    lines_->copied.set(copied_);
  }
  open_.resize(still_open);
  if (copied_ == before) return;
  // Pairs with the sender's load in progress().
  lines_->copied.set(copied_);
  wake();
}

bool Receiver::finish() {
  end();
  return true;
}

bool Receiver::progress() {
  if (!meet()) return false;
  if (count_ > 0) {
    if (!transfers_.go_on()) return false;
    has_copied();
    lines_->copied.set(copied_);
    wake();
  }
  const std::uint64_t now = starts();
  // In this order: what was left of this start is counted when all are marked, and who finds what was left of the next one
  // sees that it has begun.
  const bool all_marked = line().all_marked.get() >= now;
  const std::uint64_t left = line().left.load(std::memory_order_acquire);
  if (line().started.get() > now) return finish();
  if (all_marked && left == copied_) return finish();
  if (left <= copied_ && !is_time_to_look()) return false;
  copy_what_is_left();
  looked_ = ticks();
  return open_.empty() && count_ == 0 && finish();
}

/// At the flags themselves, though nobody has said that there is a reason to: the sender may not come to MPI to say that all
/// are marked.
bool Receiver::is_time_to_look() {
  const std::uint64_t between = ticks_in(1000);
  if (is_asked_.load(std::memory_order_relaxed)) {
    is_asked_.store(false, std::memory_order_relaxed);
    return true;
  }
  return ticks() - looked_ >= between;
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
  if (!is_asked_.load(std::memory_order_relaxed)) is_asked_.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace tutti::partitioned
