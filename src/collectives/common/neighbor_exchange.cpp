#include "collectives/common/neighbor_exchange.h"

#include <algorithm>
#include <array>

#include "base/ticks.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/buffers/own_block.h"
#include "collectives/common/buffers/packed_blocks.h"
#include "selection/model.h"

namespace tutti {

namespace {

/// How fast copies between ranks were.
class Speed {
 public:
  template <class Copy>
  void time(std::size_t bytes, Copy&& copy) {
    const std::uint64_t begin = ticks();
    copy();
    ticks_ += ticks() - begin;
    bytes_ += bytes;
  }
  /// 0 if nothing was copied.
  std::uint64_t ticks_a_kib() const { return bytes_ == 0 ? 0 : std::max<std::uint64_t>(ticks_ * 1024 / bytes_, 1); }

 private:
  std::uint64_t ticks_ = 0;
  std::size_t bytes_ = 0;
};

/// The progress of a post without packed blocks whose sender waits for what its destinations say, and stores for those
/// that want that.
constexpr std::uint64_t stores_if_wanted =
    PackedBlocks::Form{.place = PackedBlocks::Place::none, .sizes = PackedBlocks::Sizes::told, .bytes = 1}.progress();

class Exchange {
 public:
  Exchange(Communicator& communicator, const NeighborArguments& arguments, Taken taken, Learned what,
           const PackedBlocks::Form& form, const PackedBlocks::Lengths& lengths)
      : communicator_(communicator),
        arguments_(arguments),
        operation_(communicator, "Neighbor exchange", PackedBlocks::in_flight(form)),
        self_(communicator.rank()),
        sources_(static_cast<std::size_t>(arguments.source_count)),
        // Packed blocks are taken as such by those who want stores, too, who may be gone before these come. Stores of
        // less would go through the caches, which are slow to give up what others have read.
        stores_(taken != Taken::read && form.place == PackedBlocks::Place::none &&
                lengths.longest >= selection::streamed_to_peers_min) {
    if (taken != Taken::read) say_how_to_take(taken, what);
    if (lengths.count > 0)
      send(form, lengths);
    else
      communicator.published();
    take_own();
    if (stores_) store_for_those_who_want_that();
    // Sources that wait do so for this flag; those that sent a copy, or have stored, do not.
    if (take_all()) operation_.publish(operation_.own().done.flag[0]);
    if (exposed_) wait_for_readers();
    if (stored_ && operation_.own().offer.cut.has(operation_.stamp())) communicator.truncated = true;
    if (ways_) learn();
    operation_.complete();
  }

 private:
  bool is_other(int rank) const { return rank >= 0 && rank != self_; }
  bool nobody_waits(const Blocks& blocks, std::size_t i) const { return arguments_.sizes_known && blocks.size(i) == 0; }

  void send(const PackedBlocks::Form& form, const PackedBlocks::Lengths& lengths);
  void say_how_to_take(Taken taken, Learned what);
  int choose(Ways& ways);
  void store_for_those_who_want_that();
  void take_own();
  bool take_all();
  bool take(std::size_t i);
  void wait_for_readers();
  void wait_for_writers();
  void learn();

  Communicator& communicator_;
  const NeighborArguments& arguments_;
  Operation operation_;
  const int self_;
  const std::size_t sources_;
  const bool stores_;     ///< for those of its destinations that want that
  bool said_ = false;     ///< how this rank takes what is sent to it
  bool stored_ = false;   ///< is what this rank gets from those who do that
  bool exposed_ = false;  ///< this rank's own memory: peers read there

  /// Given if this call is timed, on rank 0. The others follow it: of two that exchange blocks one would do all the work
  /// if one reads and is stored to by the other.
  Ways* ways_ = nullptr;
  static constexpr int way_read = 0, way_stored = 1;
  Speed read_;
  const std::uint64_t begin_ = ticks();
  std::uint64_t slowest_store_ = 0;  ///< for this rank, ticks a KiB
};

/// The progress of done.flag[1] of who has stored for all who want that, after one more than the index of each block.
constexpr std::uint64_t stored_all = sync::progress_max;

/// use(i) for each block that has to travel: not to null processes, nor to this rank itself; once if all get the same.
template <class Use>
void for_each_sent(const NeighborArguments& arguments, int self, Use&& use) {
  const bool same = arguments.send.is_regular() && arguments.send.stride == 0;
  for (int i = 0; i < arguments.destination_count; ++i) {
    if (arguments.destinations[i] < 0 || arguments.destinations[i] == self) continue;
    use(static_cast<std::size_t>(same ? 0 : i));
    if (same) return;
  }
}

/// What of `blocks` has to travel if they are not packed.
std::size_t bytes_of(const Blocks& blocks, std::size_t count) {
  if (blocks.is_regular()) return blocks.stride == 0 ? blocks.bytes : blocks.bytes * count;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += blocks.sizes[i];
  return bytes;
}

void Exchange::send(const PackedBlocks::Form& form, const PackedBlocks::Lengths& lengths) {
  PackedBlocks packed(communicator_);
  if (form.place != PackedBlocks::Place::none) {
    for_each_sent(arguments_, self_, [&](std::size_t i) {
      packed.write(operation_.sequence(), form, i, arguments_.send.at(i), arguments_.send.size(i));
    });
    packed.send(operation_.sequence(), form, lengths.count);
    return;
  }
  const auto count = static_cast<std::size_t>(arguments_.destination_count);
  const bool small =
      packed.pays_to_copy(lengths) && bytes_of(arguments_.send, count) <= communicator_.node().settings.eager_max;
  const ExposedBlocks mine =
      post_blocks(operation_, arguments_.send, count, Side::source, small, -1, stores_ ? stores_if_wanted : 0);
  exposed_ = !mine.exposure.in_the_ring;
}

void Exchange::say_how_to_take(Taken taken, Learned what) {
  const std::size_t bytes = bytes_of(arguments_.receive, sources_);
  // Nobody asks then, unless with more than there is room for.
  if (bytes < selection::streamed_to_peers_min && !stores_) return;
  if (std::none_of(arguments_.sources, arguments_.sources + sources_, [&](int rank) { return is_other(rank); })) return;
  said_ = true;
  const bool chosen = taken == Taken::whichever && bytes >= selection::streamed_to_peers_min;
  stored_ = (chosen || taken == Taken::stored) && can_be_offered(communicator_, arguments_.receive, sources_);
  if (stored_ && chosen) stored_ = choose(communicator_.ways(what, bytes)) == way_stored;
  if (stored_)
    offer_blocks(operation_, arguments_.receive, sources_);
  else
    operation_.own().offer.flag.set(operation_.stamp(Offer::to_read));
}

int Exchange::choose(Ways& ways) {
  if (self_ != 0) return communicator_.common_way();
  const Communicator::Lead lead = communicator_.lead(ways, 2);
  if (lead.followed) ways_ = &ways;
  return lead.way;
}

void Exchange::store_for_those_who_want_that() {
  Speed speed;
  sync::Flag& stored = operation_.own().done.flag[1];
  const auto gets_something = [&](int i) {
    return is_other(arguments_.destinations[i]) && !nobody_waits(arguments_.send, static_cast<std::size_t>(i));
  };
  int last = arguments_.destination_count - 1;
  while (last >= 0 && !gets_something(last)) --last;
  std::uint64_t said = 0;
  for (int i = 0; i <= last; ++i) {
    const int to = arguments_.destinations[i];
    const auto index = static_cast<std::size_t>(i);
    if (!gets_something(i)) continue;
    Offer& offer = operation_.slot(to).offer;
    operation_.wait(offer.flag, Offer::to_read, to);
    communicator_.check(to, operation_.sequence());
    if (!offer.flag.has(operation_.stamp(Offer::to_be_stored))) continue;
    const RemoteBlock block = offered_block(operation_, to, static_cast<std::size_t>(arguments_.destination_blocks[i]));
    const std::size_t sent = arguments_.send.size(index);
    if (const std::size_t bytes = std::min(block.bytes, sent)) {
      const bool large = bytes >= selection::streamed_to_peers_min && arguments_.store == memory::Store::cached;
      speed.time(bytes, [&] {
        communicator_.peer(to).copy_to(block.region, block.offset, arguments_.send.at(index), bytes,
                                       large ? memory::Store::streaming_to_peers : arguments_.store);
      });
    }
    // Only the writer knows that, and only the receiver may raise the error.
    if (sent > block.bytes) offer.cut.set(operation_.stamp());
    operation_.own().offer.took.set(speed.ticks_a_kib());
    said = i == last ? stored_all : index + 1;
    operation_.publish(stored, said);
  }
  if (said != stored_all) operation_.publish(stored, stored_all);
}

/// Before this rank waits for others: what it sends to itself is in its caches now (own_block.h).
void Exchange::take_own() {
  for (std::size_t i = 0; i < sources_; ++i) {
    if (arguments_.sources[i] != self_) continue;
    const auto index = static_cast<std::size_t>(arguments_.source_blocks[i]);
    const std::size_t bytes = fitting(communicator_, arguments_.send.size(index), arguments_.receive.size(i));
    copy_own_block(arguments_.receive.at(i), arguments_.send.at(index), bytes, arguments_.store);
  }
}

/// Takes the block of source `i`, which has posted. True if the source may be waiting for that.
bool Exchange::take(std::size_t i) {
  const int source = arguments_.sources[i];
  const auto index = static_cast<std::size_t>(arguments_.source_blocks[i]);
  std::byte* const to = arguments_.receive.at(i);
  const std::size_t room = arguments_.receive.size(i);
  communicator_.check(source, operation_.sequence());
  if (PackedBlocks(communicator_).open(operation_.sequence(), source, index, to, room)) return false;
  const Slot& slot = operation_.slot(source);
  const bool asked = (slot.post.flag.get() & sync::progress_max) == stores_if_wanted;
  if (asked && !said_) {
    operation_.publish(operation_.own().offer.flag, Offer::to_read);
    said_ = true;
  }
  if (asked && stored_) {
    operation_.wait(slot.done.flag[1], index + 1, source);
    slowest_store_ = std::max(slowest_store_, slot.offer.took.get());
    return false;
  }
  const RemoteBlock block = posted_block(operation_, source, index, Side::source);
  if (const std::size_t bytes = fitting(communicator_, block.bytes, room)) {
    const auto read = [&] {
      communicator_.peer(source).copy_from(block.region, block.offset, to, bytes, arguments_.store);
    };
    if (ways_)
      read_.time(bytes, read);
    else
      read();
  }
  return true;
}

/// Takes the blocks of all sources. True if one of them may be waiting for that.
bool Exchange::take_all() {
  bool answer = false;
  std::size_t left = 0;
  auto* later = operation_.array<std::uint32_t>(sources_);
  for (std::size_t i = 0; i < sources_; ++i) {
    const int source = arguments_.sources[i];
    if (!is_other(source)) continue;
    if (nobody_waits(arguments_.receive, i)) {
      // Who has something all the same shall not wait for ever.
      if (!said_) operation_.own().offer.flag.set(operation_.stamp(Offer::to_read));
      answer = true;
      continue;
    }
    if (operation_.slot(source).post.flag.has(operation_.stamp()))
      answer |= take(i);
    else
      later[left++] = static_cast<std::uint32_t>(i);
  }
  for (std::size_t at = 0; at < left; ++at) {
    const int source = arguments_.sources[later[at]];
    operation_.wait(operation_.slot(source).post.flag, 0, source);
    answer |= take(later[at]);
  }
  return answer;
}

void Exchange::wait_for_readers() {
  for (int i = 0; i < arguments_.destination_count; ++i) {
    const int reader = arguments_.destinations[i];
    if (!is_other(reader) || nobody_waits(arguments_.send, static_cast<std::size_t>(i))) continue;
    const Slot& slot = operation_.slot(reader);
    if (stores_ && slot.offer.flag.has(operation_.stamp(Offer::to_be_stored))) continue;
    operation_.wait(slot.done.flag[0], 0, reader);
    communicator_.check(reader, operation_.sequence());
  }
}

/// Until who has stored for this rank has done so for its other destinations as well.
void Exchange::wait_for_writers() {
  for (std::size_t i = 0; i < sources_; ++i) {
    const int source = arguments_.sources[i];
    if (!is_other(source) || nobody_waits(arguments_.receive, i)) continue;
    const Slot& slot = operation_.slot(source);
    if ((slot.post.flag.get() & sync::progress_max) != stores_if_wanted) continue;
    operation_.wait(slot.done.flag[1], stored_all, source);
  }
}

void Exchange::learn() {
  // Where ranks share cores, what they do between their calls is in the time of a call: what a program writes to lines
  // that others have read takes longer, and much longer where these have no cache in common. Elsewhere a call takes as
  // long as the last rank is late.
  if (communicator_.node().oversubscribed) {
    // Who reads waits until those who read from it have all they get.
    if (stored_) wait_for_writers();
    // That reads are as fast as anything is what the model says.
    ways_->took_in_run(stored_ ? way_stored : way_read, ticks() - begin_, way_read);
  } else if (const std::uint64_t took = stored_ ? slowest_store_ : read_.ticks_a_kib(); took > 0) {
    ways_->took(stored_ ? way_stored : way_read, took);
  }
}

}  // namespace

void exchange_with_neighbors(Communicator& communicator, const NeighborArguments& arguments, Taken taken,
                             Learned what) {
  PackedBlocks::Lengths lengths;
  for_each_sent(arguments, communicator.rank(),
                [&](std::size_t i) { lengths.add(i, arguments.send.size(i), arguments.send.at(i)); });
  PackedBlocks::Form form = PackedBlocks(communicator).form_for(lengths);
  if (arguments.send.is_regular() && arguments.send.stride == 0) form.sizes = PackedBlocks::Sizes::same;
  Exchange(communicator, arguments, taken, what, form, lengths);
}

namespace {

/// Blocks of ranks in another order.
struct Reordered {
  std::array<std::size_t, exchanged_with_all_max> sizes;
  std::array<std::ptrdiff_t, exchanged_with_all_max> offsets;

  void add(std::size_t i, const Blocks& from, std::size_t index) {
    sizes[i] = from.size(index);
    offsets[i] = from.offset(index);
  }
  Blocks blocks(const Blocks& from) const { return Blocks::irregular(from.base, sizes.data(), offsets.data()); }
};

}  // namespace

void exchange_with_all(Communicator& communicator, const Blocks& send, const Blocks& receive, memory::Store store,
                       Learned what) {
  const int ranks = communicator.size();
  const bool same = send.is_regular() && send.stride == 0;
  // In the order in which they are dealt with: rank + 1, rank + 2, ..., this rank.
  std::array<int, exchanged_with_all_max> others, places_there;
  Reordered sent, received;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i) {
    const int rank = (communicator.rank() + 1 + static_cast<int>(i)) % ranks;
    others[i] = rank;
    places_there[i] = ranks - 2 - static_cast<int>(i);
    if (!same) sent.add(i, send, static_cast<std::size_t>(rank));
    received.add(i, receive, static_cast<std::size_t>(rank));
  }
  places_there[static_cast<std::size_t>(ranks - 1)] = ranks - 1;
  exchange_with_neighbors(communicator,
                          {.sources = others.data(),
                           .source_blocks = places_there.data(),
                           .source_count = ranks,
                           .destinations = others.data(),
                           .destination_blocks = places_there.data(),
                           .destination_count = ranks,
                           .send = same ? send : sent.blocks(send),
                           .receive = received.blocks(receive),
                           .regular = false,
                           .sizes_known = true,
                           .store = store},
                          Taken::whichever, what);
}

}  // namespace tutti
