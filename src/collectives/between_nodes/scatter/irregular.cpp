// Scatter and Scatterv between nodes, where only the root knows the sizes: the tree with base P + 1, once for the sizes and
// once for the blocks.
//
// Phase 1: the root says where its blocks are and how long. Phase 2: their sizes go along the tree of the scatter, so that
// each node knows those of all nodes below it. Phase 3: the blocks go along the tree in the same way, from the root's
// buffer or packed by the ranks that send them, and each rank of a node copies its own while they are sent on. Long blocks go
// in slices, one after the other.
// Cost: 2 alpha_e ceil(log_{P+1} N) + ((N - 1) P n + 8 (N - 1) P) beta_e for blocks of n bytes about; inside as the tree for
// blocks of one size.
// Requires: nothing. After PiP-MColl, section III.A.1, which has blocks of one size.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/tree_blocks.h"

namespace tutti {

selection::Algorithm<ScatterArguments> between_nodes_scatter_irregular{
    "multi-object-sizes-tree",
    {"2 ceil(log_{P+1} N)", "(N-1) P (n + 8), the root's", "after PiP-MColl III.A.1"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      return selection::Cost{.hops = 4.0 + 2 * network::rounds_of(shape.nodes, shape.places),
                             .beside = {.copied_bytes = copied_of_tree_blocks(shape)},
                             .between = cost_of_tree_blocks(shape, Sizes::sent)};
    },
    {[](Operation& operation, const ScatterArguments& arguments) {
       return scatter_blocks(operation, arguments, Sizes::sent);
     },
     crossing_flags}};

}  // namespace tutti
