// Gather, flat, single copy: k ranks write at a time.
//
// Phase 1: the root exposes where the blocks belong. Phase 2: the first k ranks after the root write their blocks at
// once; each later one begins when the rank k places before it has finished, so there are k chains of writers and no
// barrier; k need not divide the number of ranks. Meanwhile the root copies its own block. Phase 3: the root waits for
// the last of each chain.
// Cost: 2 + (p-1)/k flag hops; n bytes copied by every rank, one after the other in each chain:
// (p-1)/k (alpha + n beta + l gamma(k) n/s).
// Requires: nothing; the sizes of Gatherv are announced by the root. CMA-aware, section IV.B.3.

#include "collectives/algorithm.h"
#include "collectives/common/trees/throttle.h"

namespace tutti {

namespace {

Task throttled_root(Operation& operation, const GatherArguments& arguments) {
  return lead_chains(operation, arguments, arguments.receive, Side::destination, [&](const ExposedBlocks& mine) {
    const int ranks = operation.communicator().size();
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == arguments.root) continue;
      const Block to = arguments.receive[rank];
      if (!arguments.regular) operation.fitting(operation.slot(rank).post.regions.bytes, to.bytes);
      if (!mine.exposure.copied) take_stored(to.at, to.bytes, arguments.store);
    }
    collect_blocks(mine, arguments.receive, static_cast<std::size_t>(ranks), arguments.root);
  });
}

Task throttled_writer(Operation& operation, const GatherArguments& arguments) {
  // How much there is to write, for a root that has less room: seen with the flag that says that it is done.
  operation.own().post.regions.bytes = arguments.bytes;
  return copy_in_turn(operation, arguments, [&] {
    push(operation, arguments.root, operation.communicator().rank(), arguments.own(), arguments.store);
  });
}

}  // namespace

selection::Algorithm<GatherArguments> gather_throttled{"throttled",
                                                       {"2 + (p-1)/k", "n, k ranks at a time", "CMA-aware IV.B.3"},
                                                       selection::requires_nothing,
                                                       throttled_cost<true>,
                                                       {rooted<throttled_root, throttled_writer>, only_done},
                                                       {.stores_to_peers = true},
                                                       {"k", throttle_candidate}};

}  // namespace tutti
