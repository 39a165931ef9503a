// Gather, flat, single copy: the root reads from one after the other.
//
// Phase 1: every rank exposes its block. Phase 2: the root copies its own block, then reads the others in rank order
// from its own on, and tells after each how many it has read. Nobody contends.
// Cost: two flag hops; (p-1) n bytes copied by the root: p (alpha + n beta + l n/s).
// Requires: nothing; every sender announces its size. CMA-aware, section IV.B.2.

#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/rooted.h"

namespace tutti {

namespace {

Task root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    const auto index = static_cast<std::size_t>(sender);
    if (const std::size_t size = arguments.receive.size(index)) {
      co_await operation.has(operation.slot(sender).post.flag, 0, sender);
      const RemoteBlock block = posted_block(operation, sender, 0, Side::source);
      if (const std::size_t bytes = fitting(communicator, block.bytes, size))
        communicator.peer(sender).copy_from(block.region, block.offset, arguments.receive.at(index), bytes,
                                            arguments.store);
    }
    operation.publish(operation.own().done.flag[0], static_cast<std::uint64_t>(i));
  }
  if (arguments.regular) communicator.seen_all(operation.sequence());
}

Task sender(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Blocks block = Blocks::regular(arguments.send, arguments.bytes);
  const ExposedBlocks mine = post_blocks(operation, block, 1, Side::source, !arguments.regular);
  if (arguments.bytes == 0 || mine.exposure.in_the_ring) co_return;
  const int distance = distance_of(communicator.rank(), arguments.root, communicator.size());
  co_await operation.has(operation.slot(arguments.root).done.flag[0], static_cast<std::uint64_t>(distance),
                         arguments.root);
}

void run(Communicator& communicator, const GatherArguments& arguments) {
  Operation operation(communicator, "Gather");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : sender(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_sequential_read;
const selection::Algorithm<GatherArguments> gather_sequential_read{
    "sequential-read", "nothing", [](const selection::Shape&) { return true; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             .rounds = 2,
                             .copied_bytes = bytes,
                             .remote_bytes = bytes * others,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .exposures = 1,
                             .startups = others,
                             .workers = 1,
                             .held_bytes = bytes * (shape.ranks + 1)};
    },
    run};

}  // namespace tutti
