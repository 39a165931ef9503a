// Scatter, flat, single copy: k ranks read at a time.
//
// Phase 1: the root exposes its blocks. Phase 2: the first k ranks after the root read their blocks at once; each later
// one begins when the rank k places before it has finished, so there are k chains of readers and no barrier; k need not
// divide the number of ranks. Meanwhile the root copies its own block. Phase 3: the root waits for the last of each
// chain.
// Cost: 2 + (p-1)/k flag hops; n bytes copied by every rank, one after the other in each chain:
// (p-1)/k (alpha + n beta + l gamma(k) n/s).
// Requires: nothing; the sizes of Scatterv are announced by the root. CMA-aware, section IV.A.3.

#include "collectives/algorithm.h"
#include "collectives/common/trees/throttle.h"

namespace tutti {

namespace {

Task throttled_root(Operation& operation, const ScatterArguments& arguments) {
  return lead_chains(operation, arguments, arguments.send, Side::source, [](const ExposedBlocks&) {});
}

Task throttled_reader(Operation& operation, const ScatterArguments& arguments) {
  return copy_in_turn(operation, arguments, [&] {
    pull(operation, arguments.root, operation.communicator().rank(), arguments.own(), arguments.store);
  });
}

}  // namespace

selection::Algorithm<ScatterArguments> scatter_throttled{"throttled",
                                                         {"2 + (p-1)/k", "n, k ranks at a time", "CMA-aware IV.A.3"},
                                                         selection::requires_nothing,
                                                         throttled_cost<false>,
                                                         {rooted<throttled_root, throttled_reader>, only_done},
                                                         {},
                                                         {"k", throttle_candidate}};

}  // namespace tutti
