// Scatter between nodes: a tree with base P + 1, all ranks of a node at once, overlapped with the scatter inside.
//
// Phase 1: the root packs the blocks in the order of nodes, into memory that its node shares. Phase 2, round by round: a
// node with the blocks of a range of nodes divides the range in up to P + 1 parts; lane l sends one of them to its first
// node, which goes on in the same way. Phase 3, while that is sent: each rank of a node copies its own block.
// Cost, section III.A.1: the greater one of alpha_e ceil(log_{P+1} N) + n (N - 1) P beta_e between nodes and
// alpha_r + P n beta_r inside. The packing at the root is ours: N P n bytes, in segments.
// Requires: blocks of the same size. PiP-MColl, section III.A.1; the root may be any rank, N any number.

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

Task body(Operation& operation, const Spanning& spanning, const ScatterArguments& arguments) {
  const int root_node = spanning.nodes.node_of(arguments.root);
  const bool at_root = spanning.node() == root_node;
  Crossing crossing(operation, spanning, at_root ? spanning.nodes.place_of(arguments.root) : 0);
  const Packed packed(crossing.nodes, arguments.bytes);
  const network::TreePlace tree = network::tree_place(crossing.nodes.count(), crossing.lanes, root_node, crossing.node);
  NodeParts parts{nullptr, &packed.starts, tree.nodes.begin};
  crossing.lend(parts.bytes(tree.nodes));
  co_await crossing.lent();
  parts.area = crossing.area();
  const bool is_root = spanning.rank == arguments.root;
  if (at_root) {
    if (is_root)
      for (int node = 0; node < crossing.nodes.count(); ++node) packed.pack(node, arguments.send, parts.at(node));
    co_await crossing.together();
  }
  co_await scatter_along_tree(operation, crossing, tree, parts, 0);
  if (arguments.receive && arguments.bytes > 0)
    copy_bytes(arguments.receive, parts.at(crossing.node) + packed.in_node(spanning.rank), arguments.bytes);
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<ScatterArguments> between_nodes_scatter_tree;
const SpanningAlgorithm<ScatterArguments> between_nodes_scatter_tree{
    "multi-object-tree",
    "ceil(log_{P+1} N)",
    "(N-1) P n, the root's",
    "PiP-MColl III.A.1; any root, N and P",
    "blocks of the same size",
    [](const network::Nodes&, const ScatterArguments& arguments) { return arguments.regular; },
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return network::Cost{.rounds = rounds,
                           .messages = network::tree_messages(shape.nodes, shape.places),
                           .bytes = (shape.nodes - 1.0) * shape.places * shape.bytes,
                           .inside_starts = 2 + rounds,
                           .inside_bytes = shape.ranks() * shape.bytes,
                           .overlapped_bytes = shape.bytes};
    },
    body};

}  // namespace tutti
