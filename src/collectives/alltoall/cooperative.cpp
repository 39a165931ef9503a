// Alltoall of ranks that find out whether to read or to store.
//
// Phase 1: every rank exposes its blocks and the place of those for it, and rank 0 says whether this time they store;
// each copies its own block. Phase 2: each reads its blocks, or stores those for the others, that of rank + 1 first,
// then of rank + 2, ... Phase 3: it waits until the others have finished.
// Cost: two flag hops; n bytes copied, (p - 1) n read or stored.
// Requires: equal blocks. Reading is direct, storing direct-write; the choice is ours.

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/buffers/own_block.h"
#include "collectives/common/neighbor_exchange.h"
#include "collectives/common/two_blocks.h"

namespace tutti {

extern const selection::Algorithm<AlltoallArguments> alltoall_direct;

namespace {

void exchange_of_two(Communicator& communicator, const AlltoallArguments& arguments) {
  const auto self = static_cast<std::size_t>(communicator.rank());
  const Blocks& send = arguments.send;
  const Blocks& receive = arguments.receive;
  Operation operation(communicator, "Alltoall");
  const TwoBlocks blocks{send.at(1 - self), send.bytes, receive.at(1 - self), receive.bytes};
  exchange_blocks(operation, Learned::alltoall, blocks, arguments.store,
                  [&] { copy_own_block(receive.at(self), send.at(self), send.bytes, arguments.store); });
  operation.complete();
}

/// Exposes the blocks of one buffer; those that need a copy lie one behind the other there.
Exposure expose_blocks(Operation& operation, const Blocks& blocks, Side side, Blocks& local) {
  const auto gaps = static_cast<std::size_t>(operation.communicator().size() - 1);
  const std::size_t span = gaps * blocks.stride + blocks.bytes;
  Exposure exposure = expose(operation, blocks.base, span, side);
  local = exposure.copied ? Blocks::regular(exposure.local, blocks.bytes) : blocks;
  return exposure;
}

void copy_others(Communicator& communicator, const Blocks& from, const Blocks& to) {
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (rank != communicator.rank()) copy_bytes(to.at(i), from.at(i), from.bytes);
  }
}

/// No coroutine: it waits for one thing after the other.
void exchange_of_many(Communicator& communicator, const AlltoallArguments& arguments) {
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const auto own = static_cast<std::size_t>(self);
  const Blocks& send = arguments.send;
  const Blocks& receive = arguments.receive;
  const std::size_t bytes = send.bytes;
  Operation operation(communicator, "Alltoall");
  // Where ranks share cores, what they do between their calls is in the time of a call; see docs/measurements/caches.md.
  const bool whole_call = communicator.node().oversubscribed;
  Trial trial(self == 0 ? &communicator.ways(Learned::alltoall, bytes) : nullptr, 2, whole_call);
  if (whole_call) trial.begins();

  Blocks source, destination;
  const Exposure from = expose_blocks(operation, send, Side::source, source);
  if (from.copied && (self != 0 || trial.way() == way_reads)) copy_others(communicator, send, source);
  const Exposure to = expose_blocks(operation, receive, Side::destination, destination);
  Post::Regions& regions = operation.own().post.regions;
  regions.stride = source.stride;
  regions.bytes = destination.stride;
  post(operation, from, to, static_cast<std::uint64_t>(trial.way()));
  copy_own_block(receive.at(own), send.at(own), bytes, arguments.store);

  int way = trial.way();
  if (self != 0) {
    const sync::Flag& leads = operation.slot(0).post.flag;
    operation.wait(leads, 0, 0);
    way = static_cast<int>(leads.get() & sync::progress_max);
  }
  if (trial.is_timed() && !whole_call)
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != self) operation.wait(operation.slot(rank).post.flag, 0, rank);
  if (!whole_call) trial.begins();
  for (int i = 1; i < ranks; ++i) {
    const int rank = (self + i) % ranks;
    const auto index = static_cast<std::size_t>(rank);
    const Post& theirs = operation.slot(rank).post;
    operation.wait(theirs.flag, 0, rank);
    communicator.check(rank, operation.sequence());
    const memory::Peer& peer = communicator.peer(rank);
    if (way == way_reads)
      peer.copy_from(posted_source(operation, rank), own * theirs.regions.stride, receive.at(index), bytes,
                     arguments.store);
    else
      peer.copy_to(posted_destination(operation, rank), own * theirs.regions.bytes, send.at(index), bytes,
                   arguments.store);
  }
  communicator.seen_all(operation.sequence());
  operation.publish(operation.own().done.flag[0]);
  for (int i = 1; i < ranks; ++i) {
    const int rank = (self - i + ranks) % ranks;
    operation.wait(operation.slot(rank).done.flag[0], 0, rank);
    communicator.check(rank, operation.sequence());
  }
  if (way != way_reads && to.copied) copy_others(communicator, destination, receive);
  trial.ends();
  operation.complete();
}

void run(Communicator& communicator, const AlltoallArguments& arguments) {
  if (arguments.regular && communicator.size() == 2)
    exchange_of_two(communicator, arguments);
  else if (arguments.regular)
    exchange_of_many(communicator, arguments);
  else if (communicator.size() <= exchanged_with_all_max)
    exchange_with_all(communicator, arguments.send, arguments.receive, arguments.store, Learned::alltoallv);
  else
    alltoall_direct.run(communicator, arguments);
}

selection::Cost cost(const selection::Shape& shape) {
  if (shape.ranks == 2 && shape.regular) return exchange_cost(shape, 2);
  const double others = shape.ranks - 1;
  const double sent = others * static_cast<double>(shape.bytes);
  return {.hops = 2.0 + 0.25 * shape.ranks,
          .rounds = 3,
          .copied_bytes = static_cast<double>(shape.bytes),
          .remote_bytes = sent,
          .either_bytes = sent,
          .slot_bytes = shape.reach == selection::Reach::staged ? 2 * sent : 0.0,
          .exposures = 2,
          .startups = others,
          .across = selection::Across::all};
}

}  // namespace

extern const selection::Algorithm<AlltoallArguments> alltoall_cooperative;
const selection::Algorithm<AlltoallArguments> alltoall_cooperative{
    "cooperative",
    {"2; 1 if small and irregular", "(p-1) n read or stored", "direct or direct-write; finding out is ours"},
    selection::requires_nothing,
    cost,
    run};

}  // namespace tutti
