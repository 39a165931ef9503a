#include "messages/messages.h"

#include <algorithm>
#include <new>

#include "base/copy.h"
#include "base/ticks.h"
#include "memory/available.h"

namespace tutti::messages {

namespace {

constexpr std::uint64_t one_of_receiver = std::uint64_t{1} << 32;

std::size_t of_sender(std::uint64_t claims) {
  return static_cast<std::size_t>(claims & (one_of_receiver - 1));
}
std::size_t of_receiver(std::uint64_t claims) {
  return static_cast<std::size_t>(claims >> 32);
}

/// Claims the next piece for one side. False if none is left, or the message is being copied to the arena.
bool claim(Block& block, std::size_t count, std::uint64_t one, std::uint64_t& before) {
  before = block.claims.load(std::memory_order_acquire);
  do {
    if (before == Block::closed || of_sender(before) + of_receiver(before) >= count) return false;
  } while (
      !block.claims.compare_exchange_weak(before, before + one, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

/// What some MPIs buffer, so that programs may lean on it.
constexpr std::size_t buffered_by_some = std::size_t{256} << 10;

/// Whether the memory for a copy of a longer message may be taken: the program may need it.
bool is_affordable(std::size_t bytes, int ranks) {
  return bytes <= buffered_by_some || bytes <= memory::available_memory() / 16 / static_cast<std::size_t>(ranks);
}

/// For so long a sender waits for the receiver. What MPIs buffer: as long as a rendezvous takes, and then some. What is longer:
/// several times as long as the copy takes that could be saved. others: bytes of other messages to it, which it may be
/// busy with, or with as many that it sends.
std::uint64_t patience_of_sender(std::size_t bytes, std::size_t others) {
  constexpr std::uint64_t least_nanoseconds = 50'000, nanoseconds_a_byte = 2;
  return ticks_in(least_nanoseconds + others / 2 + (bytes > buffered_by_some ? bytes * nanoseconds_a_byte : 0));
}

}  // namespace

/// Pieces are long enough for a copy that streams, and so many that two sides have done at about the same time.
Pieces::Pieces(std::size_t of) : bytes(of) {
  constexpr std::size_t least = std::size_t{8} << 10, most = std::size_t{128} << 10, step = 4096;
  piece = std::clamp((of / 8 + step - 1) / step * step, least, most);
  count = std::max<std::size_t>((of + piece - 1) / piece, 1);
}

const char* name_of(Way way) {
  static constexpr const char* names[ways] = {"lent", "stored", "streamed", "read", "staged"};
  return names[static_cast<std::size_t>(way)];
}

Messages::Messages(Node& node, std::size_t area, std::uint64_t key)
    : node_(node), key_{key, 0x7475'7474'6920'6d73}, lists_(node, area), from_(node.peers.size()) {}

std::uint64_t Envelope::checked() const {
  std::uint64_t sum = key[0];
  for (const std::uint64_t each : {number, message_bytes, block, region, gaps, static_cast<std::uint64_t>(sender)})
    sum = (sum ^ each) * 0x9e37'79b9'7f4a'7c15;
  return sum;
}

Envelope Messages::envelope_of(int sender, std::uint64_t number, const Record& record) const {
  Envelope envelope{{key_[0], key_[1]}, number, record.bytes, record.block, record.region, record.gaps, sender, 0};
  envelope.check = envelope.checked();
  return envelope;
}

Envelope Messages::say(int peer, const Record& record) {
  const std::lock_guard lock(mutex_);
  return envelope_of(node_.rank, lists_.say(peer, record), record);
}

std::deque<Messages::Pending>& Messages::listen(int peer) {
  From& from = from_[static_cast<std::size_t>(peer)];
  lists_.listen(peer, [&](std::uint64_t number, const Record& record) { from.pending.push_back({number, record}); });
  for (const std::uint64_t number : from.come) forget(from, number);
  from.come.clear();
  return from.pending;
}

bool Messages::forget(From& from, std::uint64_t number) {
  const auto found = std::find_if(from.pending.begin(), from.pending.end(),
                                  [&](const Pending& each) { return each.number == number; });
  if (found == from.pending.end()) return false;
  from.pending.erase(found);
  return true;
}

bool Messages::is_envelope(const Envelope& found) const {
  return found.key[0] == key_[0] && found.key[1] == key_[1] && found.check == found.checked();
}

/// False if it had before. Nothing of the sender's is looked at for that, as long as nobody asks what comes next.
bool Messages::has_come(int peer, std::uint64_t number) {
  From& from = from_[static_cast<std::size_t>(peer)];
  if (number < lists_.heard(peer)) return forget(from, number);
  if (std::find(from.come.begin(), from.come.end(), number) != from.come.end()) return false;
  from.come.push_back(number);
  if (from.come.size() == come_max) listen(peer);
  return true;
}

std::optional<Envelope> Messages::come(int peer, std::uint64_t communicator, int tag, const Envelope& found) {
  const std::lock_guard lock(mutex_);
  const bool is_one = is_envelope(found) && found.sender == peer;
  if (is_one && has_come(peer, found.number)) return found;
  // None, or what came later, and was looked at earlier, is where it was: then it is the first that could be it.
  std::deque<Pending>& pending = listen(peer);
  const auto first = [&](bool of_envelopes) {
    return std::find_if(pending.begin(), pending.end(), [&](const Pending& each) {
      return each.record.is_envelope == of_envelopes && each.record.communicator == communicator &&
             each.record.tag == tag;
    });
  };
  auto it = is_one ? pending.end() : first(false);
  if (it == pending.end()) it = first(true);
  if (it == pending.end()) return std::nullopt;
  const Pending took = *it;
  pending.erase(it);
  return took.record.is_envelope ? std::optional(envelope_of(peer, took.number, took.record)) : std::nullopt;
}

bool Messages::has_several(int peer, std::uint64_t communicator, int tag) {
  const std::lock_guard lock(mutex_);
  const std::deque<Pending>& pending = listen(peer);
  return std::count_if(pending.begin(), pending.end(), [&](const Pending& each) {
           return each.record.communicator == communicator && each.record.tag == tag;
         }) > 1;
}

std::optional<Record> Messages::next_from(int peer, std::uint64_t communicator, int tag, bool is_matched) {
  const std::lock_guard lock(mutex_);
  std::deque<Pending>& pending = listen(peer);
  const auto found = std::find_if(pending.begin(), pending.end(), [&](const Pending& each) {
    return each.record.communicator == communicator && each.record.tag == tag;
  });
  if (found == pending.end()) return std::nullopt;
  const Record record = found->record;
  if (is_matched) pending.erase(found);
  return record;
}

Block* Messages::take_block() {
  const std::lock_guard lock(mutex_);
  sweep();
  Block* block = nullptr;
  if (unused_.empty()) {
    const std::optional<std::size_t> offset = node_.arena->allocate_used(sizeof(Block));
    if (!offset) throw ArenaFull();
    unused_.reserve(unused_.capacity() + 1);
    block = reinterpret_cast<Block*>(node_.arena->base() + *offset);
  } else {
    block = unused_.back();
    unused_.pop_back();
  }
  return new (block) Block{};
}

void Messages::give_back(const Left& left) {
  lent_ -= left.lent;
  if (left.staging) node_.arena->release(*left.staging, memory::Arena::Contents::used);
  unused_.push_back(left.block);
}

void Messages::leave(const Left& left) {
  const std::lock_guard lock(mutex_);
  if (left.block->finished.get())
    give_back(left);
  else
    left_.push_back(left);
}

bool Messages::may_lend(std::size_t bytes, std::size_t most) {
  if (bytes > most) return false;
  const std::lock_guard lock(mutex_);
  sweep();
  if (lent_ + bytes > most) return false;
  lent_ += bytes;
  return true;
}

void Messages::sweep() {
  // Receivers come in any order. A few are looked at each time, others the next time.
  for (int i = 0; i < 4 && !left_.empty(); ++i) {
    const Left left = left_.front();
    left_.pop_front();
    if (left.block->finished.get())
      give_back(left);
    else
      left_.push_back(left);
  }
}

Outgoing::Outgoing(Messages& messages, const Message& message)
    : messages_(messages),
      in_use_(messages.node()),
      message_(message),
      has_gaps_(message.layout != nullptr),
      block_(messages.take_block()) {
  const memory::Region region = place();
  is_lent_ = is_counted_ || (has_gaps_ && region.kind() == memory::Kind::none);
  block_->region.store(region.bits(), std::memory_order_relaxed);
  if (region.kind() != memory::Kind::none) return;
  try {
    if (!is_affordable(message.bytes, node().size)) throw ArenaFull();
    stage();
  } catch (...) {
    block_->finished.set(1);
    leave();
    throw;
  }
}

Outgoing::~Outgoing() {
  if (since_ == 0) block_->finished.set(1);  // nobody knows of it
  leave();
}

void Outgoing::leave() {
  if (since_ != 0) messages_.from(message_.peer).open.fetch_sub(message_.bytes, std::memory_order_relaxed);
  messages_.leave({block_, staging_, is_counted_ ? message_.bytes : 0});
}

/// Where the receiver reads it in the program's buffer; none if it does not.
memory::Region Outgoing::place() {
  if (!message_.buffer) return {};
  if (message_.layout) block_->layout = *message_.layout;
  if (message_.is_read_there) {
    const memory::Layout::Extent extent = message_.layout->extent();
    const memory::Region region = node().reachable(message_.buffer + extent.first, extent.bytes);
    if (memory::always_mapped(region.kind())) return region;
  }
  is_counted_ = messages_.may_lend(message_.bytes, message_.lent_most);
  return has_gaps_ || is_counted_ ? memory::Region() : node().reachable(message_.buffer, message_.bytes);
}

/// To the arena, from where the receiver gets it whenever it comes.
void Outgoing::stage() {
  staging_ = node().arena->allocate_used(sizeof(memory::Filled) + message_.bytes);
  if (!staging_) throw ArenaFull();
  const std::size_t begin = *staging_ + sizeof(memory::Filled);
  memory::Region region(memory::Kind::arena, begin);
  if (is_lent_) {
    new (node().arena->base() + *staging_) memory::Filled;
    region = memory::Region(memory::Kind::filling, begin);
    if (is_counted_) region = region.taken_over();
  } else if (has_gaps_) {
    gaps().get(0, staging(), message_.bytes);
  } else if (message_.buffer) {
    memory::stream_copy(staging(), message_.buffer, message_.bytes);
  }
  block_->region.store(region.bits(), std::memory_order_relaxed);
  staged_ = true;
}

void Outgoing::fill() {
  if (!is_lent_) return;
  memory::Filled& filled = memory::Filled::of(staging());
  const auto lend = [&](std::size_t at, std::size_t bytes) {
    if (!has_gaps_) return static_cast<void>(copy_bytes(staging() + at, message_.buffer + at, bytes));
    if (is_counted_) return gaps().get(at, staging() + at, bytes);
    std::byte packed[memory::filled_at_once];
    gaps().get(at, packed, bytes);
    memory::stream_copy(staging() + at, packed, bytes);
  };
  for (std::size_t at = 0; at < message_.bytes;) {
    const std::size_t end = std::min(at + memory::filled_at_once, message_.bytes);
    lend(at, end - at);
    at = end;
    filled.bytes.store(at, std::memory_order_release);
  }
  if (node().waiter->sleepers_possible) node().waiter->wake(&message_.peer, 1);
}

Envelope Outgoing::announce() {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block_) - node().arena->base());
  const std::uint64_t region = block_->region.load(std::memory_order_relaxed);
  const Envelope envelope = messages_.say(message_.peer, {message_.communicator, message_.tag, message_.bytes, true,
                                                          offset, region, has_gaps_ && !staged_});
  since_ = ticks() | 1;
  messages_.from(message_.peer).open.fetch_add(message_.bytes, std::memory_order_relaxed);
  return envelope;
}

/// The message was not accepted for long, nor was another one to that rank.
bool Outgoing::buffer_later() {
  if (!may_buffer_) return false;
  const Messages::From& all = messages_.from(message_.peer);
  const std::uint64_t since = std::max(since_, all.seen.load(std::memory_order_relaxed)), now = ticks();
  const std::size_t others = all.open.load(std::memory_order_relaxed) - message_.bytes;
  if (now < since || now - since < patience_of_sender(message_.bytes, others)) return false;
  may_buffer_ = is_affordable(message_.bytes, node().size);
  if (!may_buffer_) return false;
  std::uint64_t none = 0;
  if (!block_->claims.compare_exchange_strong(none, Block::closed, std::memory_order_acq_rel)) return false;
  try {
    stage();
  } catch (const ArenaFull&) {
    may_buffer_ = false;  // the receiver gets it out of the buffer
  }
  block_->claims.store(0, std::memory_order_release);
  return staged_;
}

void Outgoing::push() {
  const memory::Region destination = memory::Region::from_bits(block_->destination.load(std::memory_order_relaxed));
  const Pieces pieces(std::min<std::size_t>(message_.bytes, block_->room.load(std::memory_order_relaxed)));
  if (!destination.loads_and_stores()) {
    over_ = block_->pulled.get() == pieces.count;
    return;
  }
  for (;;) {
    if (!open_) {
      std::uint64_t before = 0;
      if (!claim(*block_, pieces.count, 1, before)) break;
      open_ = of_sender(before);
      const std::size_t at = pieces.begin(*open_);
      memory::PeerTransfers{other(), transfers_}.copy_to(destination, at, message_.buffer + at, pieces.length(*open_),
                                                         message_.store);
    }
    if (!transfers_.go_on()) return;
    open_.reset();
    block_->pushed.set(++pushed_);
  }
  over_ = pushed_ + block_->pulled.get() == pieces.count;
  if (pushed_ > 0 && node().waiter->sleepers_possible) node().waiter->wake(&message_.peer, 1);
}

bool Outgoing::progress() {
  if (over_) return true;
  const bool is_finished = block_->finished.get(), is_accepted = is_finished || block_->accepted.get();
  if (is_accepted && (is_finished || !is_seen_)) {
    is_seen_ = true;
    messages_.from(message_.peer).seen.store(ticks(), std::memory_order_relaxed);
  }
  if (is_finished) return over_ = true;
  if (is_accepted) {
    if (staged_) return over_ = true;
    push();
    return over_;
  }
  return over_ = staged_ || buffer_later();
}

Way Outgoing::way() const {
  if (staged_) return is_lent_ ? Way::lent : Way::staged;
  if (pushed_ < block_->pulled.get()) return Way::read;
  return message_.store == memory::Store::cached ? Way::stored : Way::streamed;
}

Incoming::Incoming(Messages& messages, const Envelope& envelope, std::byte* buffer, std::size_t room,
                   std::uint64_t patience, memory::Spread* spread)
    : node_(messages.node()),
      in_use_(node_),
      peer_(envelope.sender),
      sent_(envelope.message_bytes),
      buffer_(buffer),
      spread_(spread),
      pieces_(std::min<std::size_t>(envelope.message_bytes, room)),
      patience_(patience),
      lent_(memory::Region::from_bits(envelope.region)),
      block_(reinterpret_cast<Block*>(other().in_arena(envelope.block, sizeof(Block)))) {
  const memory::Kind kind = lent_.kind();
  is_lent_ = kind == memory::Kind::filling;
  has_gaps_ = envelope.gaps;
  if (is_lent_) return;
  const bool sender_copies = kind != memory::Kind::arena && !spread_ && !has_gaps_;
  const memory::Region region = sender_copies ? node_.reachable(buffer, pieces_.bytes) : memory::Region();
  block_->destination.store(region.loads_and_stores() ? region.bits() : 0, std::memory_order_relaxed);
  block_->room.store(room, std::memory_order_relaxed);
  block_->accepted.set(1);
  if (node_.waiter->sleepers_possible) node_.waiter->wake(&peer_, 1);
  looked_ = ticks();
  if (!region.loads_and_stores()) seen_ = Block::closed;  // nobody is to be waited for
}

/// Whether this side is to copy the next piece.
bool Incoming::may_pull() {
  if (seen_ == Block::closed) return true;
  const std::uint64_t claims = block_->claims.load(std::memory_order_relaxed);
  const std::uint64_t now = ticks();
  if (of_sender(claims) != seen_ && claims != Block::closed) {
    seen_ = of_sender(claims);
    looked_ = now;
  }
  return now - looked_ > patience_;
}

/// The last piece that nobody has. False if there is none, or it is not there yet.
bool Incoming::pull() {
  if (!is_pulling_) {
    std::uint64_t before = 0;
    if (!claim(*block_, pieces_.count, one_of_receiver, before)) return false;
    const std::size_t i = pieces_.count - 1 - of_receiver(before);
    const std::size_t at = pieces_.begin(i);
    is_pulling_ = true;
    const memory::Region region = memory::Region::from_bits(block_->region.load(std::memory_order_relaxed));
    if (has_gaps_ && region.kind() != memory::Kind::arena)
      pull_gaps(region, at, pieces_.length(i));
    else
      memory::PeerTransfers{other(), transfers_}.copy_from(region, at, buffer_ + at, pieces_.length(i),
                                                           memory::Store::cached, spread_, at);
  }
  if (!transfers_.go_on()) return false;
  is_pulling_ = false;
  block_->pulled.set(++pulled_);
  return true;
}

/// Out of the gaps in the sender's buffer.
void Incoming::pull_gaps(memory::Region region, std::size_t at, std::size_t bytes) {
  const memory::Layout& theirs = block_->layout;
  const memory::Layout::Extent extent = theirs.extent();
  if (const std::byte* const there = other().pointer(region, 0, extent.bytes)) {
    const memory::Spread here = spread_ ? *spread_ : memory::Spread{memory::Layout(sent_), buffer_};
    memory::copy_between(here.layout, here.base, theirs, there - extent.first, bytes, at);
    other().loaded(bytes);
    return;
  }
  // It is not mapped here, for want of address space.
  for (const std::size_t end = at + bytes; at < end;) {
    const std::size_t run = at / theirs.run(), begin = at % theirs.run(),
                      part = std::min(theirs.run() - begin, end - at);
    const std::size_t offset = static_cast<std::size_t>(theirs.offset_of_run(run) - extent.first) + begin;
    memory::PeerTransfers{other(), transfers_}.copy_from(region, offset, buffer_ + at, part, memory::Store::cached,
                                                         spread_, at);
    at += part;
  }
}

/// All of a copy that the sender is making.
bool Incoming::pull_lent() {
  if (!is_pulling_) {
    is_pulling_ = true;
    memory::PeerTransfers{other(), transfers_}.copy_from(lent_, 0, buffer_, pieces_.bytes, memory::Store::cached,
                                                         spread_);
  }
  if (!transfers_.go_on()) return false;
  is_pulling_ = false;
  pulled_ = pieces_.count;
  return true;
}

bool Incoming::progress() {
  // The sender may use the block for another message by now.
  if (over_) return true;
  while (is_lent_ && pulled_ == 0)
    if (!pull_lent()) return false;
  while (!is_lent_ && (is_pulling_ || may_pull()))
    if (!pull()) break;
  if (is_pulling_ || pulled_ + block_->pushed.get() < pieces_.count) return false;
  over_ = true;
  block_->finished.set(1);
  if (node_.waiter->sleepers_possible) node_.waiter->wake(&peer_, 1);
  return true;
}

}  // namespace tutti::messages
