#include "collectives/common/neighbor_exchange.h"

#include <algorithm>

#include "collectives/common/buffers/blocks.h"
#include "collectives/common/buffers/own_block.h"
#include "collectives/common/buffers/packed_blocks.h"
#include "selection/model.h"

namespace tutti {

namespace {

/// The progress of a post without packed blocks whose sender waits for what its destinations say, and stores for those
/// that want that.
constexpr std::uint64_t stores_if_wanted =
    PackedBlocks::Form{.place = PackedBlocks::Place::none, .sizes = PackedBlocks::Sizes::told, .bytes = 1}.progress();

class Exchange {
 public:
  Exchange(Communicator& communicator, const NeighborArguments& arguments, Taken taken, const PackedBlocks::Form& form,
           const PackedBlocks::Lengths& lengths)
      : communicator_(communicator),
        arguments_(arguments),
        operation_(communicator, "Neighbor exchange", PackedBlocks::in_flight(form)),
        self_(communicator.rank()),
        sources_(static_cast<std::size_t>(arguments.source_count)),
        // Packed blocks are taken as such by those who want stores, too, who may be gone before these come. Stores of
        // less would go through the caches, which are slow to give up what others have read.
        stores_(taken == Taken::stored && form.place == PackedBlocks::Place::none &&
                lengths.longest >= selection::streamed_to_peers_min) {
    if (taken == Taken::stored) say_how_to_take();
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
    operation_.complete();
  }

 private:
  bool is_other(int rank) const { return rank >= 0 && rank != self_; }

  void send(const PackedBlocks::Form& form, const PackedBlocks::Lengths& lengths);
  void say_how_to_take();
  void store_for_those_who_want_that();
  void take_own();
  bool take_all();
  bool take(std::size_t i);
  void wait_for_readers();

  Communicator& communicator_;
  const NeighborArguments& arguments_;
  Operation operation_;
  const int self_;
  const std::size_t sources_;
  const bool stores_;     ///< for those of its destinations that want that
  bool said_ = false;     ///< how this rank takes what is sent to it
  bool stored_ = false;   ///< is what this rank gets from those who do that
  bool exposed_ = false;  ///< this rank's own memory: peers read there
};

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

void Exchange::say_how_to_take() {
  // Nobody asks then, unless with more than there is room for.
  if (bytes_of(arguments_.receive, sources_) < selection::streamed_to_peers_min && !stores_) return;
  if (std::none_of(arguments_.sources, arguments_.sources + sources_, [&](int rank) { return is_other(rank); })) return;
  said_ = true;
  stored_ = can_be_offered(communicator_, arguments_.receive, sources_);
  if (stored_)
    offer_blocks(operation_, arguments_.receive, sources_);
  else
    operation_.own().offer.flag.set(operation_.stamp(Offer::to_read));
}

void Exchange::store_for_those_who_want_that() {
  sync::Flag& stored = operation_.own().done.flag[1];
  for (int i = 0; i < arguments_.destination_count; ++i) {
    const int to = arguments_.destinations[i];
    const auto index = static_cast<std::size_t>(i);
    if (!is_other(to)) continue;
    Offer& offer = operation_.slot(to).offer;
    operation_.wait(offer.flag, Offer::to_read, to);
    communicator_.check(to, operation_.sequence());
    if (!offer.flag.has(operation_.stamp(Offer::to_be_stored))) continue;
    const RemoteBlock block = offered_block(operation_, to, static_cast<std::size_t>(arguments_.destination_blocks[i]));
    const std::size_t sent = arguments_.send.size(index);
    if (const std::size_t bytes = std::min(block.bytes, sent))
      communicator_.peer(to).copy_to(block.region, block.offset, arguments_.send.at(index), bytes, arguments_.store);
    // Only the writer knows that, and only the receiver may raise the error.
    if (sent > block.bytes) offer.cut.set(operation_.stamp());
    operation_.publish(stored, index + 1);
  }
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
    return false;
  }
  const RemoteBlock block = posted_block(operation_, source, index, Side::source);
  if (const std::size_t bytes = fitting(communicator_, block.bytes, room))
    communicator_.peer(source).copy_from(block.region, block.offset, to, bytes, arguments_.store);
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
    if (!is_other(reader)) continue;
    const Slot& slot = operation_.slot(reader);
    if (stores_ && slot.offer.flag.has(operation_.stamp(Offer::to_be_stored))) continue;
    operation_.wait(slot.done.flag[0], 0, reader);
    communicator_.check(reader, operation_.sequence());
  }
}

}  // namespace

void exchange_with_neighbors(Communicator& communicator, const NeighborArguments& arguments, Taken taken) {
  PackedBlocks::Lengths lengths;
  for_each_sent(arguments, communicator.rank(),
                [&](std::size_t i) { lengths.add(i, arguments.send.size(i), arguments.send.at(i)); });
  PackedBlocks::Form form = PackedBlocks(communicator).form_for(lengths);
  if (arguments.send.is_regular() && arguments.send.stride == 0) form.sizes = PackedBlocks::Sizes::same;
  Exchange(communicator, arguments, taken, form, lengths);
}

}  // namespace tutti
