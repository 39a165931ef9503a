// Gather between nodes: the scatter's tree the other way round, all ranks of a node at once.
//
// Phase 1: each rank copies its block into memory that the node shares, on the root's node to where it belongs. Phase 2,
// round by round: the lanes of a node receive the parts of the nodes below it, and one of them sends all of these on. On the
// root's node they receive straight into the root's buffer; where that is not mapped, or blocks of a message do not follow
// each other in it, each unpacks what it has received.
// Cost: alpha_e ceil(log_{P+1} N) + n (N - 1) P beta_e, which is what comes to the root's node; inside n bytes copied, and
// N n more on the root's node where they have to be unpacked.
// Requires: blocks of the same size. In the spirit of PiP-MColl, section III.A.1, and of the two-level Gather that the
// CMA-aware paper asks for in section VII.G.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/tree_blocks.h"

namespace tutti {

selection::Algorithm<GatherArguments> between_nodes_gather_tree{
    "multi-object-tree",
    {"ceil(log_{P+1} N)", "(N-1) P n come to the root's node", "after PiP-MColl III.A.1, CMA-aware VII.G"},
    selection::requires_nodes_and_equal_blocks,
    [](const selection::Shape& shape) {
      return selection::Cost{
          .hops = 3, .copied_bytes = copied_of_tree_blocks(shape), .between = cost_of_tree_blocks(shape, Sizes::known)};
    },
    {[](Operation& operation, const GatherArguments& arguments) {
       return gather_blocks(operation, arguments, Sizes::known);
     },
     crossing_flags}};

}  // namespace tutti
