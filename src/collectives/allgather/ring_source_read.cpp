// Allgather, flat, single copy: every block is read where it comes from.
//
// Phase 1: every rank exposes its block and copies it to its own receive buffer. Phase 2: in step i it reads the block
// of the rank i places further in the machine's order, so that no two read from the same rank unless they drift apart. Phase 3: it says that it has read all
// and waits until the others have.
// Cost: two flag hops; n bytes copied, p - 1 copies of n bytes read, one reader at a time on each rank.
// Requires: nothing. CMA-aware, section V.A.2 (Ring-Source-Read).

#include "collectives/algorithm.h"

namespace tutti {

namespace {

Task ring_source_read_body(Operation& operation, const AllgatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const topology::MachineOrder& order = communicator.order();
  const int self = communicator.rank();
  const int place = order.place(self);
  const Block own = arguments.receive[self];
  const std::byte* send = arguments.send ? arguments.send : own.at;
  const ExposedBlocks mine = post_blocks(operation, {Blocks::regular(send, arguments.bytes), 1, Side::source});
  keep(own.at, send, std::min(arguments.bytes, own.bytes), arguments.store);

  bool all_seen = true;
  for (int i = 1; i < ranks; ++i) {
    const int rank = order.rank_after(place, i);
    const Block to = arguments.receive[rank];
    if (to.bytes == 0) {
      all_seen = false;
      continue;
    }
    co_await operation.posted(rank);
    pull(operation, rank, 0, to, arguments.store);
  }
  co_await operation.copied();
  if (all_seen) operation.seen_all();
  operation.publish_done();
  if (mine.exposure.in_the_ring || arguments.bytes == 0) co_return;
  for (int i = 1; i < ranks; ++i) {
    const int rank = order.rank_after(place, -i);
    co_await operation.done(rank);
  }
}

}  // namespace

selection::Algorithm<AllgatherArguments> allgather_ring_source_read{
    "ring-source-read",
    {"2", "n, and (p-1) n read where they come from", "CMA-aware V.A.2"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 2.4 + 2 * selection::all_look * selection::further_ranks(shape),
                             // All wait for all, at the beginning and at the end.
                             .rounds = 4,
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .exchanged_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .left_bytes = bytes,
                             .exposures = 2,
                             .startups = others,
                             .common = true,
                             .across = selection::Across::all};
    },
    {ring_source_read_body, only_done},
    {.lends = Readers::many}};

}  // namespace tutti
