// Alltoall, flat, single copy: every rank stores its blocks where they belong.
//
// Phase 1: every rank exposes its receive buffer and copies its own block. Phase 2: it stores its block for the next
// rank in the machine's order, then for the one after that, ... One flag a step tells each receiver at once that its block is there. Phase 3: it waits until
// all blocks for it are there.
// A block for which there is too little room is cut by its writer, who leaves the size in the receiver's table.
// Cost: two flag hops; n bytes copied, (p - 1) n stored.
// Requires: nothing. `direct` with writes, as CMA-aware has them for other collectives (section III).

#include "collectives/algorithm.h"

namespace tutti {

namespace {

Task direct_write_body(Operation& operation, const AlltoallArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const topology::MachineOrder& order = communicator.order();
  const int self = communicator.rank();
  const int place = order.place(self);
  const auto count = static_cast<std::size_t>(ranks);
  const auto own_index = static_cast<std::size_t>(self);
  const Blocks& receive = arguments.receive;
  const ExposedBlocks mine =
      post_blocks(operation, {.blocks = receive, .count = count, .side = Side::destination, .skip = self});
  keep_own_block(communicator, arguments);

  // done: so many ranks after this one have their blocks.
  bool all_seen = true;
  for (int i = 1; i < ranks; ++i) {
    const int rank = order.rank_after(place, i);
    const Block own = arguments.send[rank];
    if (own.bytes > 0) {
      co_await operation.posted(rank);
      const std::size_t room = push(operation, rank, self, own, arguments.store);
      co_await operation.copied();
      say_if_too_long(operation, rank, own_index, room, own.bytes);
    } else {
      all_seen = false;
    }
    operation.publish_done(i);
  }
  if (all_seen) operation.seen_all();
  for (int i = 1; i < ranks; ++i) {
    const int rank = order.rank_after(place, -i);
    const auto index = static_cast<std::size_t>(rank);
    if (receive.size(index) == 0) continue;
    co_await operation.done(rank, i);
    note_if_too_long(operation, receive, index);
    if (!mine.exposure.copied) take_stored(receive.at(index), receive.size(index), arguments.store);
  }
  collect_blocks(mine, receive, count, self);
}

}  // namespace

selection::Algorithm<AlltoallArguments> alltoall_direct_write{
    "direct-write",
    {"2", "(p-1) n stored", "direct, with writes as in CMA-aware III"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{
          .hops = 2.5 + (selection::one_stores + 2 * selection::all_look) * selection::further_ranks(shape),
          .rounds = 4,
          .copied_bytes = bytes,
          .remote_bytes = others * bytes,
          .written_bytes = others * bytes,
          .slot_bytes = shape.reach == selection::Reach::staged ? others * bytes : 0.0,
          .exposures = 2,
          .startups = others,
          .across = selection::Across::all};
    },
    {direct_write_body, only_done},
    {.stores_to_peers = true}};

}  // namespace tutti
