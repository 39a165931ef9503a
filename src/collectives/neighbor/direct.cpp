// Neighbor_allgather(v) and Neighbor_alltoall(v,w): copied straight from the neighbour's buffer.
//
// Phases: of common/neighbor_exchange.h; all ranks read.
// Cost: one flag hop for what travels in lines or data areas, else two; n bytes copied of n received, twice if small.
// Requires: nothing. After MPI 4.1, section 8.6; single copy as in XHC, section III.C.

#include "collectives/algorithm.h"
#include "collectives/common/neighbor_exchange.h"

namespace tutti {

selection::Algorithm<NeighborArguments> neighbor_direct{
    "direct",
    {"2; 1 if small", "n of n received, 2n if small", "MPI 4.1, 8.6; XHC III.C"},
    selection::requires_nothing,
    neighbor_cost,
    {[](Operation& operation, const NeighborArguments& arguments) {
       return exchange_with_neighbors(operation, arguments, Taken::read);
     },
     neighbor_flags, neighbors_in_flight},
    {.lends = Readers::many, .packs_small = true}};

}  // namespace tutti
