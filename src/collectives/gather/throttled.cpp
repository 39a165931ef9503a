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
#include "collectives/common/trees/throttle.h"

namespace tutti {

namespace {

Task throttled_root(Operation& operation, const GatherArguments& arguments) {
  return lead_chains(operation, arguments, arguments.receive, Side::destination, [&](const ExposedBlocks& mine) {
    Communicator& communicator = operation.communicator();
    const auto ranks = static_cast<std::size_t>(communicator.size());
    for (std::size_t i = 0; !arguments.regular && i < ranks; ++i)
      if (static_cast<int>(i) != arguments.root)
        operation.fitting(operation.slot(static_cast<int>(i)).post.regions.bytes, arguments.receive.size(i));
    for (std::size_t i = 0; !mine.exposure.copied && i < ranks; ++i)
      if (static_cast<int>(i) != arguments.root)
        take_stored(arguments.receive.at(i), arguments.receive.size(i), arguments.store);
    collect_blocks(mine, arguments.receive, ranks, arguments.root);
  });
}

Task throttled_writer(Operation& operation, const GatherArguments& arguments) {
  // How much there is to write, for a root that has less room: seen with the flag that says that it is done.
  operation.own().post.regions.bytes = arguments.bytes;
  return copy_in_turn(operation, arguments, Side::destination, [&](const RemoteBlock& block) {
    if (const std::size_t bytes = std::min(arguments.bytes, block.bytes))
      operation.peer(arguments.root).copy_to(block.region, block.offset, arguments.send, bytes, arguments.store);
  });
}

Task throttled_body(Operation& operation, const GatherArguments& arguments) {
  return operation.communicator().rank() == arguments.root ? throttled_root(operation, arguments)
                                                           : throttled_writer(operation, arguments);
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_throttled;
const selection::Algorithm<GatherArguments> gather_throttled{
    "throttled",
    {"2 + (p-1)/k", "n, k ranks at a time", "CMA-aware IV.B.3"},
    selection::requires_nothing,
    throttled_cost<true>,
    {throttled_body, only_done},
    {"k", throttle_candidate},
    nullptr,
    {.stores_to_peers = true}};

}  // namespace tutti
