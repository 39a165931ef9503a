// Alltoall, flat, single copy: every rank reads its block from each of the others.
//
// Phase 1: every rank exposes its send buffer and copies its own block. Phase 2: it reads its block from the next rank in
// the machine's order, then from the one after that, ..., so that the readers of a rank come one after the other unless they drift apart. Phase 3: it says that
// it has read all and waits until the others have read its blocks.
// Small irregular blocks travel packed, for which nobody waits in phase 3; so do others that are small together, in
// the data area.
// Cost: two flag hops, one if all are small; n bytes copied, (p - 1) n read.
// Requires: nothing. The exchange of CMA-aware, section IV.C.1, in another order and without steps.

#include "collectives/algorithm.h"
#include "collectives/common/buffers/packed_blocks.h"

namespace tutti {

namespace {

PackedBlocks::Form form_of(const Communicator& communicator, const AlltoallArguments& arguments) {
  return arguments.regular ? PackedBlocks::Form{} : PackedBlocks::form_of_all(communicator, arguments.send);
}

/// Irregular blocks up to one grain together are copied in and out: that costs less than the second flag hop. Each rank
/// decides for its own.
bool prefer_slot(const Blocks& send, std::size_t count) {
  if (send.is_regular()) return false;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) total += send.size(i);
  return total <= grain_bytes;
}

/// True if peers read the blocks where they are, so that this rank has to wait for them.
bool expose_blocks(Operation& operation, const AlltoallArguments& arguments) {
  const Communicator& communicator = operation.communicator();
  const auto count = static_cast<std::size_t>(communicator.size());
  return !post_blocks(operation, {.blocks = arguments.send,
                                  .count = count,
                                  .side = Side::source,
                                  .prefer_slot = prefer_slot(arguments.send, count),
                                  .skip = communicator.rank(),
                                  .sent = arguments.sent})
              .exposure.in_the_ring;
}

Task direct_body(Operation& operation, const AlltoallArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const topology::MachineOrder& order = communicator.order();
  const int self = communicator.rank();
  const int place = order.place(self);
  const Blocks& send = arguments.send;
  PackedBlocks packed(operation);
  const PackedBlocks::Form form = form_of(communicator, arguments);
  bool wait_for_readers = false;
  if (form.place != PackedBlocks::Place::none) {
    pack(arguments.sent, send, static_cast<std::size_t>(ranks), self);
    packed.send_all(form, send);
  } else {
    wait_for_readers = expose_blocks(operation, arguments);
  }
  keep_own_block(communicator, arguments);

  // Who has packed its blocks does not wait for an answer, who has exposed them does. Of those from whom this rank
  // expects nothing it does not know which they are.
  bool all_seen = true;
  bool answer = false;
  for (int i = 1; i < ranks; ++i) {
    const int rank = order.rank_after(place, i);
    const Block to = arguments.receive[rank];
    if (to.bytes == 0) {
      all_seen = false;
      continue;
    }
    co_await operation.posted(rank);
    if (packed.open(rank, PackedBlocks::index_of(self, rank), to.at, to.bytes)) continue;
    answer = true;
    pull(operation, rank, self, to, arguments.store, arguments.received[rank]);
  }
  co_await operation.copied();
  if (all_seen) operation.seen_all();
  if (answer || !all_seen) operation.publish_done();
  for (int i = 1; wait_for_readers && i < ranks; ++i) {
    const int rank = order.rank_after(place, -i);
    if (send[rank].bytes > 0) co_await operation.done(rank);
  }
}

std::uint64_t in_flight(const Communicator& communicator, const AlltoallArguments& arguments) {
  return PackedBlocks::in_flight(form_of(communicator, arguments));
}

}  // namespace

selection::Algorithm<AlltoallArguments> alltoall_direct{
    "direct",
    {"2; 1 if small and irregular", "(p-1) n read", "CMA-aware IV.C.1, without its steps"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 2.4 + 3 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 3,
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? others * bytes : 0.0,
                             .left_bytes = others * bytes,
                             .exposures = 2,
                             .startups = others,
                             .across = selection::Across::all};
    },
    {direct_body, only_done, in_flight},
    {.lends = Readers::one, .packs_small = true, .takes_spread = true}};

}  // namespace tutti
