// Two ranks that each have a block for the other: both read, or both store their own into the other's memory, if the
// blocks are large past its caches or through them (store_ways.h). What is faster depends on whether the two share a
// cache at present (reading what another core has written takes two to three times as long where they do not; storing
// past its caches does not care).
//
// Rank 0 decides, says so in its post, and times what comes of it, from when both are there until both have finished
// (Ways).
#pragma once

#include <algorithm>

#include "base/copy.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/store_ways.h"
#include "selection/model.h"

namespace tutti {

/// What a rank sends to the other one, and where it wants that one's.
struct TwoBlocks {
  const std::byte* send = nullptr;
  std::size_t bytes = 0;
  std::byte* receive = nullptr;
  std::size_t room = 0;
};

/// Sends and receives. copy_own() is called when it has been said where the blocks are (own_block.h). No coroutine: it
/// waits for one thing after the other.
template <class CopyOwn>
void exchange_blocks(Operation& operation, Learned what, const TwoBlocks& blocks, memory::Store store,
                     const CopyOwn& copy_own) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int other = 1 - self;
  Trial trial(self == 0 ? &communicator.ways(what, std::max(blocks.bytes, blocks.room)) : nullptr, ways_of(store));
  Exposure source = expose(operation, const_cast<std::byte*>(blocks.send), blocks.bytes, Side::source);
  const Exposure destination = expose(operation, blocks.receive, blocks.room, Side::destination);
  operation.own().post.regions.bytes = blocks.bytes;
  operation.own().post.regions.stride = blocks.room;
  const Post& theirs = operation.slot(other).post;
  bool reads = self == 1 || trial.way() == way_reads;
  // Rank 1 does not know whether what it lends will be read, unless rank 0 has said so already.
  if (self == 1 && source.copied && theirs.flag.has(operation.stamp()))
    reads = (theirs.flag.get() & sync::progress_max) == way_reads;
  const auto way_of_trial = static_cast<std::uint64_t>(trial.way());
  if (reads)
    post_filling(operation, source, destination, blocks.send, blocks.bytes, way_of_trial);
  else
    post(operation, source, destination, way_of_trial);
  copy_own();

  operation.wait(theirs.flag, 0, other);
  communicator.check(other, operation.sequence());
  communicator.seen_all(operation.sequence());
  trial.begins();
  const int way = self == 0 ? trial.way() : static_cast<int>(theirs.flag.get() & sync::progress_max);
  const bool store_ours = way != way_reads;
  const std::size_t received = fitting(communicator, theirs.regions.bytes, blocks.room);
  const memory::Peer& peer = communicator.peer(other);
  if (store_ours)
    peer.copy_to(posted_destination(operation, other), 0, blocks.send,
                 std::min<std::size_t>(blocks.bytes, theirs.regions.stride), store_of(way, store));
  else
    peer.copy_from(posted_source(operation, other), 0, blocks.receive, received, store);
  operation.publish(operation.own().done.flag[0]);
  operation.wait(operation.slot(other).done.flag[0], 0, other);
  communicator.check(other, operation.sequence());
  if (store_ours && destination.copied) copy_bytes(blocks.receive, destination.local, received);
  trial.ends();
}

/// What that costs, own blocks included.
inline selection::Cost exchange_cost(const selection::Shape& shape, double rounds) {
  const auto bytes = static_cast<double>(shape.bytes);
  return {.hops = 2.4,
          .rounds = rounds,
          .copied_bytes = bytes,
          // A little less than by either: which one that is may change.
          .remote_bytes = 0.97 * bytes,
          .either_bytes = 0.97 * bytes,
          .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
          .exposures = 2,
          .startups = 1};
}

}  // namespace tutti
