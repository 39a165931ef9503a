// Gather, flat, single copy: the root reads from one after the other.
//
// Phase 1: every rank exposes its block. Phase 2: the root copies its own block, then reads the others in rank order
// from its own on, and tells after each how many it has read. Nobody contends.
// Small blocks of Gatherv come packed to the root, for which it need not tell.
// Cost: two flag hops; (p-1) n bytes copied by the root: p (alpha + n beta + l n/s).
// Requires: nothing; every sender announces its size. CMA-aware, section IV.B.2.

#include "collectives/algorithm.h"
#include "collectives/common/buffers/packed_blocks.h"

namespace tutti {

namespace {

Task sequential_read_root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  PackedBlocks packed(operation);
  bool saw_all = true;
  keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    if (const Block to = arguments.receive[sender]; to.bytes > 0) {
      co_await operation.posted(sender);
      if (!arguments.regular && packed.open(sender, 0, to.at, to.bytes)) continue;
      pull(operation, sender, 0, to, arguments.store);
      co_await operation.copied();
    } else {
      saw_all = false;
    }
    operation.publish_done(i);
  }
  if (saw_all) operation.seen_all();
}

Task sender(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  if (!arguments.regular && PackedBlocks(operation).send_one(arguments.send, arguments.bytes)) co_return;
  const Blocks block = Blocks::regular(arguments.send, arguments.bytes);
  const ExposedBlocks mine = post_blocks(operation, {block, 1, Side::source});
  if (arguments.bytes == 0 || mine.exposure.in_the_ring) co_return;
  const int distance = distance_of(communicator.rank(), arguments.root, communicator.size());
  co_await operation.done(arguments.root, distance);
}

std::uint64_t sequential_read_in_flight(const Communicator& communicator, const GatherArguments& arguments) {
  if (communicator.rank() == arguments.root) return ring_slots;  // it uses no data area
  return arguments.regular ? data_areas : PackedBlocks::in_flight_of_one(communicator, arguments.send, arguments.bytes);
}

}  // namespace

selection::Algorithm<GatherArguments> gather_sequential_read{
    "sequential-read",
    {"2; 1 if small and irregular", "(p-1) n, all by the root", "CMA-aware IV.B.2"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      const selection::Reach reach = shape.reach_of_blocks(1);
      return selection::Cost{.hops = 2.4 + selection::there_and_back * selection::further_ranks(shape),
                             // It waits for everybody's post, and everybody for it: no rank does both in one turn.
                             .rounds = 4,
                             .copied_bytes = bytes,
                             .remote_bytes = bytes * others,
                             .slot_bytes = reach == selection::Reach::staged ? bytes : 0.0,
                             .left_bytes = bytes,
                             .exposures = 1,
                             .startups = reach == selection::Reach::kernel ? others : 0.0,
                             .workers = 1,
                             .held_bytes = bytes * (shape.ranks + 1),
                             .across = selection::Across::all};
    },
    {rooted<sequential_read_root, sender>, only_done, sequential_read_in_flight},
    {.lends = Readers::one, .packs_small = true}};

}  // namespace tutti
