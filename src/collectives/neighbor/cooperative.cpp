// Neighbor_allgather(v) and Neighbor_alltoall(v,w) of ranks that find out whether to read or to be stored to.
//
// Phases: of common/neighbor_exchange.h. Rank 0 takes both ways in turn, times them (Ways), and the others do as it does
// as soon as they see that.
// Cost: as `direct`, or as `direct-write`, whichever is less.
// Requires: nothing. Reading is direct, storing direct-write; the choice is ours.

#include "collectives/common/neighbor_exchange.h"

namespace tutti {

extern const selection::Algorithm<NeighborArguments> neighbor_cooperative;
const selection::Algorithm<NeighborArguments> neighbor_cooperative{
    "cooperative",
    {"2; 1 if small", "as direct or as direct-write", "direct or direct-write; finding out is ours"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      selection::Cost cost = neighbor_cost(shape);
      if (cost.startups > 0) cost.either_bytes = cost.remote_bytes;
      return cost;
    },
    [](Communicator& communicator, const NeighborArguments& arguments) {
      exchange_with_neighbors(communicator, arguments, Taken::whichever);
    }};

}  // namespace tutti
