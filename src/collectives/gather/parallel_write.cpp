// Gather, flat, single copy: all write at once.
//
// Phase 1: the root exposes where the blocks belong. Phase 2: every rank writes its block into the root's buffer while
// the root copies its own. Phase 3: the root waits until all have written.
// Small blocks of Gatherv do not wait for the root: they travel packed to it.
// Cost: two flag hops; n bytes copied by every rank. The kernel's copies contend for the root's pages:
// alpha + n beta + l gamma(p-1) n/s.
// Requires: nothing; the sizes of Gatherv are announced by the root. CMA-aware, section IV.B.1.

#include "collectives/algorithm.h"
#include "collectives/common/buffers/packed_blocks.h"

namespace tutti {

namespace {

Task parallel_write_root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const ExposedBlocks mine = post_blocks(operation, {.blocks = arguments.receive,
                                                     .count = static_cast<std::size_t>(communicator.size()),
                                                     .side = Side::destination,
                                                     .skip = arguments.root});
  keep_own_block(communicator, arguments);
  PackedBlocks packed(operation);
  bool saw_all = true;
  for (int i = 1; i < communicator.size(); ++i) {
    const int writer = rank_at(arguments.root, i, communicator.size());
    const Block to = arguments.receive[writer];
    if (to.bytes == 0) {
      saw_all = false;
      continue;
    }
    // Progress 0 would be seen before anything is there.
    co_await operation.posted(writer, 1);
    if (packed.open(writer, 0, to.at, to.bytes)) continue;
    const std::size_t came = operation.fitting(operation.slot(writer).post.regions.bytes, to.bytes);
    if (mine.exposure.copied)
      copy_bytes(to.at, mine.local[writer].at, came);
    else
      take_stored(to.at, came, arguments.store);
  }
  if (saw_all) operation.seen_all();
}

Task parallel_write_writer(Operation& operation, const GatherArguments& arguments) {
  if (!arguments.regular && PackedBlocks(operation).send_one(arguments.send, arguments.bytes)) co_return;
  co_await operation.posted(arguments.root);
  push(operation, arguments.root, operation.communicator().rank(), arguments.own(), arguments.store);
  co_await operation.copied();
  Post& mine = operation.own().post;
  mine.regions.bytes = arguments.bytes;
  operation.publish(mine.flag, static_cast<std::uint64_t>(PackedBlocks::Place::delivered));
}

std::uint64_t parallel_write_in_flight(const Communicator& communicator, const GatherArguments& arguments) {
  if (communicator.rank() == arguments.root || arguments.regular) return data_areas;
  return PackedBlocks::in_flight_of_one(communicator, arguments.send, arguments.bytes);
}

}  // namespace

selection::Algorithm<GatherArguments> gather_parallel_write{
    "parallel-write",
    {"2; 1 if small and irregular", "n, all at once", "CMA-aware IV.B.1"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
      return selection::Cost{.hops = 2.4 + selection::there_and_back * selection::further_ranks(shape),
                             .rounds = 2,
                             .remote_bytes = bytes,
                             .written_bytes = bytes,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 1,
                             .startups = reach == selection::Reach::kernel ? 1.0 : 0.0,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes}};
    },
    {rooted<parallel_write_root, parallel_write_writer>, {}, parallel_write_in_flight},
    {.stores_to_peers = true}};

}  // namespace tutti
