// Gather, flat, single copy: k ranks write at a time.
//
// Phase 1: the root exposes where the blocks belong. Phase 2: the first k ranks after the root write their blocks at
// once; each later one begins when the rank k places before it has finished, so there are k chains of writers and no
// barrier; k need not divide the number of ranks. Meanwhile the root copies its own block. Phase 3: the root waits for
// the last of each chain.
// Cost: 2 + (p-1)/k flag hops; n bytes copied by every rank, one after the other in each chain:
// (p-1)/k (alpha + n beta + l gamma(k) n/s).
// Requires: nothing; the sizes of Gatherv are announced by the root. CMA-aware, section IV.B.3.

#include "collectives/collectives.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/trees/rooted.h"
#include "collectives/common/trees/throttle.h"

namespace tutti {

namespace {

Task root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const ExposedBlocks mine = post_blocks(operation, arguments.receive, ranks, Side::destination, false, arguments.root);
  keep_own_block(communicator, arguments);
  for (int i = last_of_chains(communicator.size(), arguments.parameter); i < communicator.size(); ++i) {
    const int writer = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(writer).done.flag[0], 0, writer);
  }
  communicator.seen_all(operation.sequence());
  for (std::size_t i = 0; !arguments.regular && i < ranks; ++i)
    if (static_cast<int>(i) != arguments.root)
      fitting(communicator, operation.slot(static_cast<int>(i)).post.regions.bytes, arguments.receive.size(i));
  collect_blocks(mine, arguments.receive, ranks, arguments.root);
}

Task writer(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int distance = distance_of(communicator.rank(), arguments.root, communicator.size());
  // One without a block waits too: it stands for all before it in its chain.
  if (distance > arguments.parameter) {
    const int before = rank_at(arguments.root, distance - arguments.parameter, communicator.size());
    co_await operation.has(operation.slot(before).done.flag[0], 0, before);
  }
  if (arguments.bytes > 0) {
    co_await operation.has(operation.slot(arguments.root).post.flag, 0, arguments.root);
    const RemoteBlock block =
        posted_block(operation, arguments.root, static_cast<std::size_t>(communicator.rank()), Side::destination);
    if (const std::size_t bytes = std::min(arguments.bytes, block.bytes))
      communicator.peer(arguments.root).copy_to(block.region, block.offset, arguments.send, bytes, arguments.store);
  }
  // How much there was to write, for a root that has less room.
  operation.own().post.regions.bytes = arguments.bytes;
  operation.publish(operation.own().done.flag[0]);
}

void run(Communicator& communicator, const GatherArguments& arguments) {
  Operation operation(communicator, "Gather");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : writer(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_throttled;
const selection::Algorithm<GatherArguments> gather_throttled{
    "throttled",          "nothing", [](const selection::Shape&) { return true; },
    throttled_cost<true>, run,       {"k", throttle_candidate}};

}  // namespace tutti
