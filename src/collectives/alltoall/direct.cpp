// Alltoall, flat, single copy: every rank reads its block from each of the others.
//
// Phase 1: every rank exposes its send buffer. Phase 2: it reads its block from rank + 1, then rank + 2, ..., so that
// the readers of a rank come one after the other unless they drift apart; its own block is copied while it would wait.
// Phase 3: it says that it has read all and waits until the others have read its blocks.
// Irregular blocks that are small together go through the data area, and nobody waits in phase 3.
// Cost: two flag hops; n bytes copied, (p - 1) n read.
// Requires: nothing. The exchange of CMA-aware, section IV.C.1, in another order and without steps.

#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/own_block.h"

namespace tutti {

namespace {

/// Irregular blocks up to one grain together are copied in and out: that costs less than the second flag hop. Each rank
/// decides for its own.
bool prefer_slot(const Blocks& send, std::size_t count) {
  if (send.is_regular()) return false;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) total += send.size(i);
  return total <= grain_bytes;
}

Task body(Operation& operation, const AlltoallArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const auto count = static_cast<std::size_t>(ranks);
  const auto own_index = static_cast<std::size_t>(self);
  const Blocks& send = arguments.send;
  const Blocks& receive = arguments.receive;
  const ExposedBlocks mine =
      post_blocks(operation, send, count, Side::source, prefer_slot(send, count), static_cast<std::ptrdiff_t>(self));
  OwnBlock own(receive.at(own_index), send.at(own_index), std::min(send.size(own_index), receive.size(own_index)),
               arguments.store);

  bool all_seen = true;
  for (int i = 1; i < ranks; ++i) {
    const int rank = (self + i) % ranks;
    const auto index = static_cast<std::size_t>(rank);
    if (receive.size(index) == 0) {
      all_seen = false;
      continue;
    }
    const sync::Flag& posted = operation.slot(rank).post.flag;
    own.copy_until(posted, operation.stamp());
    co_await operation.has(posted, 0, rank);
    const RemoteBlock theirs = posted_block(operation, rank, own_index, Side::source);
    if (const std::size_t bytes = fitting(communicator, theirs.bytes, receive.size(index)))
      communicator.peer(rank).copy_from(theirs.region, theirs.offset, receive.at(index), bytes, arguments.store);
  }
  if (all_seen) communicator.seen_all(operation.sequence());
  operation.publish(operation.own().done.flag[0]);
  own.finish();
  if (mine.exposure.in_the_ring) co_return;
  for (int i = 1; i < ranks; ++i) {
    const int rank = (self - i + ranks) % ranks;
    if (send.size(static_cast<std::size_t>(rank)) > 0)
      co_await operation.has(operation.slot(rank).done.flag[0], 0, rank);
  }
}

void run(Communicator& communicator, const AlltoallArguments& arguments) {
  Operation operation(communicator, "Alltoall");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<AlltoallArguments> alltoall_direct;
const selection::Algorithm<AlltoallArguments> alltoall_direct{
    "direct", "nothing", [](const selection::Shape&) { return true; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             .rounds = 2,
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? others * bytes : 0.0,
                             .exposures = 2,
                             .startups = others};
    },
    run};

}  // namespace tutti
