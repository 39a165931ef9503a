// Scatter between nodes: a tree with base P + 1, all ranks of a node at once, overlapped with the scatter inside.
//
// Phase 1: the root says where its blocks are. Phase 2, round by round: a node with the blocks of a range of nodes divides
// the range in up to P + 1 parts; lane l sends one of them to its first node, which goes on in the same way. On the root's
// node all ranks send straight from the root's buffer; where that is not mapped, or blocks of a message do not follow each
// other in it, each packs what it sends. Phase 3, while that is sent: each rank of a node copies its own block.
// Cost, section III.A.1: the greater one of alpha_e ceil(log_{P+1} N) + n (N - 1) P beta_e between nodes and
// alpha_r + n beta_r inside, since the ranks copy at once; with N n beta_r more on the root's node where they have to pack.
// Requires: blocks of the same size. PiP-MColl, section III.A.1; the root may be any rank, N any number.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/tree_blocks.h"

namespace tutti {

selection::Algorithm<ScatterArguments> between_nodes_scatter_tree{
    "multi-object-tree",
    {"ceil(log_{P+1} N)", "(N-1) P n, the root's", "PiP-MColl III.A.1; any root, N and P"},
    selection::requires_nodes_and_equal_blocks,
    [](const selection::Shape& shape) {
      return selection::Cost{.hops = 2.0 + network::rounds_of(shape.nodes, shape.places),
                             .beside = {.copied_bytes = copied_of_tree_blocks(shape)},
                             .between = cost_of_tree_blocks(shape, Sizes::known)};
    },
    {[](Operation& operation, const ScatterArguments& arguments) {
       return scatter_blocks(operation, arguments, Sizes::known);
     },
     crossing_flags}};

}  // namespace tutti
