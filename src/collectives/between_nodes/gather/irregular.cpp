// Gather and Gatherv between nodes, where only the root knows all sizes: the tree with base P + 1, once for the sizes and
// once for the blocks.
//
// Phase 1: each rank writes the size of its block into memory that the node shares. Phase 2: sizes go along the tree of the
// gather, so that each node knows those of all nodes below it, and on the root's node whoever receives from these. Phase 3:
// each rank copies its block; blocks go along the tree in the same way, at the end into the root's buffer, or to ranks that
// unpack them there. Long blocks go in slices, one after the other.
// Cost: 2 alpha_e ceil(log_{P+1} N) + ((N - 1) P n + 8 (N - 1) P) beta_e for blocks of n bytes about; inside as the tree for
// blocks of one size.
// Requires: nothing. After PiP-MColl, section III.A.1, and the two-level Gather of the CMA-aware paper, section VII.G.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/tree_blocks.h"

namespace tutti {

selection::Algorithm<GatherArguments> between_nodes_gather_irregular{
    "multi-object-sizes-tree",
    {"2 ceil(log_{P+1} N)", "(N-1) P (n + 8) come to the root's node", "after PiP-MColl III.A.1, CMA-aware VII.G"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      return selection::Cost{
          .hops = 6, .copied_bytes = copied_of_tree_blocks(shape), .between = cost_of_tree_blocks(shape, Sizes::sent)};
    },
    {[](Operation& operation, const GatherArguments& arguments) {
       return gather_blocks(operation, arguments, Sizes::sent);
     },
     crossing_flags}};

}  // namespace tutti
