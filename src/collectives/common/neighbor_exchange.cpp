#include "collectives/common/neighbor_exchange.h"

#include "collectives/common/buffers/packed_blocks.h"

namespace tutti {

namespace {

/// The progress of a post without packed blocks whose sender waits for what its destinations say, and stores for those
/// that want that.
constexpr std::uint64_t stores_if_wanted =
    PackedBlocks::Form{.place = PackedBlocks::Place::none, .sizes = PackedBlocks::Sizes::told, .bytes = 1}.progress();

/// The progress of `stored` of who has stored for all who want that, ...
constexpr std::uint64_t stored_all = progress_max;
/// ... and of who has stored the block of this index; of more blocks than can be counted, those behind count as one.
std::uint64_t stored_until(std::size_t index) {
  return std::min<std::uint64_t>(index + 1, stored_all);
}

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

PackedBlocks::Lengths lengths_of(const Communicator& communicator, const NeighborArguments& arguments) {
  PackedBlocks::Lengths lengths;
  for_each_sent(arguments, communicator.rank(),
                [&](std::size_t i) { lengths.add(i, arguments.send.size(i), arguments.send.at(i)); });
  return lengths;
}

PackedBlocks::Form form_of(const Communicator& communicator, const NeighborArguments& arguments,
                           const PackedBlocks::Lengths& lengths) {
  PackedBlocks::Form form = PackedBlocks::form_for(communicator, lengths);
  if (arguments.send.is_regular() && arguments.send.stride == 0) form.sizes = PackedBlocks::Sizes::same;
  return form;
}

/// What a rank does in it, but for the waits.
class NeighborBlocks {
 public:
  NeighborBlocks(Operation& operation, const NeighborArguments& arguments, Taken taken)
      : operation_(operation),
        communicator_(operation.communicator()),
        arguments_(arguments),
        self_(communicator_.rank()),
        sources_(static_cast<std::size_t>(arguments.source_count)),
        lengths_(lengths_of(communicator_, arguments)),
        form_(form_of(communicator_, arguments, lengths_)),
        // Packed blocks are taken as such by those who want stores, too, who may be gone before these come. Stores of
        // less would go through the caches, which are slow to give up what others have read.
        stores_(taken == Taken::stored && form_.place == PackedBlocks::Place::none &&
                lengths_.longest >= selection::streamed_to_peers_min) {
    if (taken == Taken::stored) say_how_to_take();
    if (lengths_.count > 0)
      send();
    else
      communicator_.published();
    take_own();
  }

  /// This rank stores for those of its destinations that want that.
  bool stores() const { return stores_; }
  /// Its own memory is what peers read.
  bool is_read() const { return exposed_; }

  /// Whether destination `i` gets something from this rank, and may be asked how.
  bool sends_to(int i) const { return is_other(arguments_.destinations[i]); }
  /// Stores the block of destination `i`, if it wants that; it has said. Then, when it is copied, its progress is to be
  /// published.
  bool store(int i) {
    const int to = arguments_.destinations[i];
    const auto index = static_cast<std::size_t>(i);
    Offer& offer = operation_.slot(to).offer;
    if (!offer.flag.has(operation_.stamp(Offer::to_be_stored))) return false;
    const RemoteBlock block = offered_block(operation_, to, static_cast<std::size_t>(arguments_.destination_blocks[i]));
    const std::size_t sent = arguments_.send.size(index);
    if (const std::size_t bytes = std::min(block.bytes, sent))
      operation_.peer(to).copy_to(block.region, block.offset, arguments_.send.at(index), bytes, arguments_.store);
    // Only the writer knows that, and only the receiver may raise the error.
    if (sent > block.bytes) offer.cut.set(operation_.stamp());
    return true;
  }

  /// The sources to wait for, those first that have come already; how many.
  std::size_t order_sources(std::uint32_t* order) {
    std::size_t there = 0, all = 0;
    for (std::size_t i = 0; i < sources_; ++i) {
      const int source = arguments_.sources[i];
      if (!is_other(source)) continue;
      order[all++] = static_cast<std::uint32_t>(i);
      if (operation_.slot(source).post.flag.has(operation_.stamp())) std::swap(order[there++], order[all - 1]);
    }
    return all;
  }
  /// Whether source `i`, which has posted, stores for this rank. If it asks, it is told.
  bool is_stored_by(std::size_t i) {
    const int source = arguments_.sources[i];
    if (operation_.progress_of(operation_.slot(source).post.flag) != stores_if_wanted) return false;
    if (!said_) {
      operation_.publish(operation_.own().offer.flag, Offer::to_read);
      said_ = true;
    }
    return stored_;
  }
  /// Takes the block of source `i`, which has posted: co_await operation.copied().
  void take(std::size_t i) {
    const int source = arguments_.sources[i];
    const auto index = static_cast<std::size_t>(arguments_.source_blocks[i]);
    const Block to{arguments_.receive.at(i), arguments_.receive.size(i)};
    if (PackedBlocks(operation_).open(source, index, to.at, to.bytes)) return;
    answers_ = true;
    pull(operation_, source, arguments_.source_blocks[i], to, arguments_.store, arguments_.received[i]);
  }
  /// Everything was taken.
  void say_taken() {
    // Sources that wait do so for this flag; those that sent a copy, or have stored, do not.
    if (answers_) operation_.publish_done();
  }
  /// Whether destination `i` reads what it gets.
  bool is_read_by(int i) const {
    return sends_to(i) &&
           !(stores_ &&
             operation_.slot(arguments_.destinations[i]).offer.flag.has(operation_.stamp(Offer::to_be_stored)));
  }
  void end() {
    if (stored_ && operation_.own().offer.cut.has(operation_.stamp())) operation_.call().truncated = true;
  }

 private:
  bool is_other(int rank) const { return rank >= 0 && rank != self_; }

  void send() {
    if (form_.place != PackedBlocks::Place::none) {
      PackedBlocks packed(operation_);
      for_each_sent(arguments_, self_,
                    [&](std::size_t i) { packed.write(form_, i, arguments_.send.at(i), arguments_.send.size(i)); });
      packed.send(form_, lengths_.count);
      return;
    }
    const auto count = static_cast<std::size_t>(arguments_.destination_count);
    const bool small = PackedBlocks::pays_to_copy(communicator_, lengths_) &&
                       bytes_of(arguments_.send, count) <= communicator_.node().settings.eager_max;
    const ExposedBlocks mine =
        post_blocks(operation_, {arguments_.send, count, Side::source, small, -1, stores_ ? stores_if_wanted : 0});
    exposed_ = !mine.exposure.in_the_ring;
  }

  void say_how_to_take() {
    // Nobody asks then, unless with more than there is room for.
    if (bytes_of(arguments_.receive, sources_) < selection::streamed_to_peers_min && !stores_) return;
    if (std::none_of(arguments_.sources, arguments_.sources + sources_, [&](int rank) { return is_other(rank); }))
      return;
    said_ = true;
    stored_ = can_be_offered(operation_, arguments_.receive, sources_);
    if (stored_)
      offer_blocks(operation_, arguments_.receive, sources_);
    else
      operation_.own().offer.flag.set(operation_.stamp(Offer::to_read));
  }

  /// Before this rank waits for others (keep()).
  void take_own() {
    for (std::size_t i = 0; i < sources_; ++i) {
      if (arguments_.sources[i] != self_) continue;
      const auto index = static_cast<std::size_t>(arguments_.source_blocks[i]);
      const std::size_t bytes = operation_.fitting(arguments_.send.size(index), arguments_.receive.size(i));
      keep(arguments_.receive.at(i), arguments_.send.at(index), bytes, arguments_.store);
    }
  }

  Operation& operation_;
  Communicator& communicator_;
  const NeighborArguments& arguments_;
  const int self_;
  const std::size_t sources_;
  const PackedBlocks::Lengths lengths_;
  const PackedBlocks::Form form_;
  const bool stores_;
  bool said_ = false;     ///< how this rank takes what is sent to it
  bool stored_ = false;   ///< is what this rank gets from those who do that
  bool exposed_ = false;  ///< this rank's own memory: peers read there
  bool answers_ = false;  ///< a source may be waiting until this rank has taken all
};

/// This rank's part for those destinations that want to be stored to.
Task store_for_others(Operation& operation, NeighborBlocks& blocks, const NeighborArguments& arguments) {
  for (int i = 0; i < arguments.destination_count; ++i) {
    if (!blocks.sends_to(i)) continue;
    const int to = arguments.destinations[i];
    co_await operation.has(operation.slot(to).offer.flag, Offer::to_read, to);
    if (!blocks.store(i)) continue;
    co_await operation.copied();
    if (const std::uint64_t until = stored_until(static_cast<std::size_t>(i)); until < stored_all)
      operation.publish(stored, until);
  }
  operation.publish(stored, stored_all);
}

}  // namespace

Task exchange_with_neighbors(Operation& operation, const NeighborArguments& arguments, Taken taken) {
  NeighborBlocks blocks(operation, arguments, taken);
  if (blocks.stores()) co_await store_for_others(operation, blocks, arguments);
  auto* const order = operation.array<std::uint32_t>(static_cast<std::size_t>(arguments.source_count));
  const std::size_t sources = blocks.order_sources(order);
  for (std::size_t at = 0; at < sources; ++at) {
    const std::uint32_t i = order[at];
    const int source = arguments.sources[i];
    co_await operation.posted(source);
    if (blocks.is_stored_by(i)) {
      co_await operation.has(source, stored, stored_until(static_cast<std::size_t>(arguments.source_blocks[i])));
      take_stored(arguments.receive.at(i), arguments.receive.size(i), arguments.store);
    } else {
      blocks.take(i);
    }
  }
  co_await operation.copied();
  blocks.say_taken();
  for (int i = 0; blocks.is_read() && i < arguments.destination_count; ++i)
    if (blocks.is_read_by(i)) co_await operation.done(arguments.destinations[i]);
  blocks.end();
}

std::uint64_t neighbors_in_flight(const Communicator& communicator, const NeighborArguments& arguments) {
  return PackedBlocks::in_flight(form_of(communicator, arguments, lengths_of(communicator, arguments)));
}

}  // namespace tutti
