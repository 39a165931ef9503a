// Gather between nodes: the scatter's tree the other way round, all ranks of a node at once.
//
// Phase 1: each rank copies its block into memory that the node shares. Phase 2, round by round: the lanes of a node
// receive the parts of the nodes below it, and one of them sends all of these on. Phase 3: the root unpacks.
// Cost: alpha_e ceil(log_{P+1} N) + n (N - 1) P beta_e, which is what comes to the root's node; inside n bytes copied, at
// the root N P n, in segments.
// Requires: blocks of the same size. In the spirit of PiP-MColl, section III.A.1, and of the two-level Gather that the
// CMA-aware paper asks for in section VII.G.

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

Task body(Operation& operation, const Spanning& spanning, const GatherArguments& arguments) {
  const int root_node = spanning.nodes.node_of(arguments.root);
  const bool at_root = spanning.node() == root_node;
  Crossing crossing(operation, spanning, at_root ? spanning.nodes.place_of(arguments.root) : 0);
  const Packed packed(crossing.nodes, arguments.bytes);
  const network::TreePlace tree = network::tree_place(crossing.nodes.count(), crossing.lanes, root_node, crossing.node);
  NodeParts parts{nullptr, &packed.starts, tree.nodes.begin};
  crossing.lend(parts.bytes(tree.nodes));
  co_await crossing.lent();
  parts.area = crossing.area();
  if (arguments.send && arguments.bytes > 0)
    copy_bytes(parts.at(crossing.node) + packed.in_node(spanning.rank), arguments.send, arguments.bytes);
  co_await crossing.together();
  co_await gather_along_tree(operation, crossing, tree, parts, 0);
  if (spanning.rank == arguments.root) {
    const int except = arguments.send ? -1 : spanning.rank;
    for (int node = 0; node < crossing.nodes.count(); ++node)
      packed.unpack(node, parts.at(node), arguments.receive, except);
  }
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<GatherArguments> between_nodes_gather_tree;
const SpanningAlgorithm<GatherArguments> between_nodes_gather_tree{
    "multi-object-tree",
    "ceil(log_{P+1} N)",
    "(N-1) P n come to the root's node",
    "after PiP-MColl III.A.1, CMA-aware VII.G",
    "blocks of the same size",
    [](const network::Nodes&, const GatherArguments& arguments) { return arguments.regular; },
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return network::Cost{.rounds = rounds,
                           .messages = network::tree_messages(shape.nodes, shape.places),
                           .bytes = (shape.nodes - 1.0) * shape.places * shape.bytes,
                           .inside_starts = 3,
                           .inside_bytes = (1 + shape.ranks()) * shape.bytes};
    },
    body};

}  // namespace tutti
