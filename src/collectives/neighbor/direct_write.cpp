// Neighbor_allgather(v) and Neighbor_alltoall(v,w): stored straight into the neighbour's buffer.
//
// Phases: of common/neighbor_exchange.h; all ranks store, past the receiver's caches if the block is large. What a rank
// sends stays in its own caches, where it is about to be changed.
// Cost: as `direct`; who has much to send waits for those it is for.
// Requires: nothing. `direct` with writes, as CMA-aware has them for other collectives (section III).

#include "collectives/algorithm.h"
#include "collectives/common/neighbor_exchange.h"

namespace tutti {

selection::Algorithm<NeighborArguments> neighbor_direct_write{
    "direct-write",
    {"2; 1 if small", "n stored of n sent, 2n if small", "direct, with writes as in CMA-aware III"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      selection::Cost cost = neighbor_cost(shape);
      cost.hops += 0.25;
      if (cost.startups > 0) cost.written_bytes = cost.remote_bytes, cost.left_bytes = 0;
      return cost;
    },
    {[](Operation& operation, const NeighborArguments& arguments) {
       return exchange_with_neighbors(operation, arguments, Taken::stored);
     },
     neighbor_flags, neighbors_in_flight},
    {.stores_to_peers = true, .packs_small = true}};

}  // namespace tutti
