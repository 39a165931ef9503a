// Scatter, flat, single copy: k ranks read at a time.
//
// Phase 1: the root exposes its blocks. Phase 2: the first k ranks after the root read their blocks at once; each later
// one begins when the rank k places before it has finished, so there are k chains of readers and no barrier; k need not
// divide the number of ranks. Meanwhile the root copies its own block. Phase 3: the root waits for the last of each
// chain.
// Cost: 2 + (p-1)/k flag hops; n bytes copied by every rank, one after the other in each chain:
// (p-1)/k (alpha + n beta + l gamma(k) n/s).
// Requires: nothing; the sizes of Scatterv are announced by the root. CMA-aware, section IV.A.3.

#include "collectives/collectives.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/trees/rooted.h"
#include "collectives/common/trees/throttle.h"

namespace tutti {

namespace {

Task root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const ExposedBlocks mine = post_blocks(operation, arguments.send, ranks, Side::source, false, arguments.root);
  keep_own_block(communicator, arguments);
  if (mine.exposure.in_the_ring) co_return;
  for (int i = last_of_chains(communicator.size(), arguments.parameter); i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(reader).done.flag[0], 0, reader);
  }
  communicator.seen_all(operation.sequence());
}

Task reader(Operation& operation, const ScatterArguments& arguments) {
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
        posted_block(operation, arguments.root, static_cast<std::size_t>(communicator.rank()), Side::source);
    if (const std::size_t bytes = fitting(communicator, block.bytes, arguments.bytes))
      communicator.peer(arguments.root)
          .copy_from(block.region, block.offset, arguments.receive, bytes, arguments.store);
  }
  operation.publish(operation.own().done.flag[0]);
}

void run(Communicator& communicator, const ScatterArguments& arguments) {
  Operation operation(communicator, "Scatter");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : reader(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> scatter_throttled;
const selection::Algorithm<ScatterArguments> scatter_throttled{
    "throttled",           "nothing", [](const selection::Shape&) { return true; },
    throttled_cost<false>, run,       {"k", throttle_candidate}};

}  // namespace tutti
