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

#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/root_blocks.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

/// On the root's node.
Task to_root(Operation& operation, RootedCrossing& crossing, const Packed& packed, const GatherArguments& arguments) {
  const bool is_root = crossing.is_root;
  if (!is_root) co_await crossing.lent();
  RootBlocks blocks(operation, crossing, arguments.receive, Side::destination, arguments.send ? -1 : arguments.root);
  blocks.receive(packed, 0, 0);
  if (arguments.send) blocks.copy_own_from(arguments.send, arguments.bytes);
  co_await crossing.received();
  blocks.unpack(packed, 0);
  co_await operation.copied();
  co_await leave(operation, crossing);
  if (is_root) blocks.collect();
}

/// On other nodes. A node's only rank sends its block from where it is.
Task to_other_node(Operation& operation, RootedCrossing& crossing, const Packed& packed,
                   const GatherArguments& arguments) {
  NodeParts parts{const_cast<std::byte*>(arguments.send), &packed.starts, crossing.tree.nodes.begin};
  if (parts.bytes(crossing.tree.nodes) > arguments.bytes) {
    crossing.lend(parts.bytes(crossing.tree.nodes));
    co_await crossing.lent();
    parts.area = crossing.area();
    copy_bytes(parts.at(crossing.node) + packed.in_node(crossing.self), arguments.send, arguments.bytes);
  }
  co_await gather_along_tree(operation, crossing, parts, 0);
  co_await leave(operation, crossing);
}

Task tree_body(Operation& operation, const GatherArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  const Packed packed(crossing.nodes, arguments.bytes);
  if (crossing.at_root)
    co_await to_root(operation, crossing, packed, arguments);
  else
    co_await to_other_node(operation, crossing, packed, arguments);
}

}  // namespace

extern const selection::Algorithm<GatherArguments> between_nodes_gather_tree;
const selection::Algorithm<GatherArguments> between_nodes_gather_tree{
    "multi-object-tree",
    {"ceil(log_{P+1} N)", "(N-1) P n come to the root's node", "after PiP-MColl III.A.1, CMA-aware VII.G"},
    selection::requires_nodes_and_equal_blocks,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{.hops = 3,
                             .copied_bytes = bytes * (1 + (shape.runs > 1 ? shape.nodes : 0)),
                             .between = {.rounds = rounds,
                                         .messages = network::tree_messages(shape.nodes, shape.places),
                                         .bytes = (shape.nodes - 1.0) * shape.places * bytes}};
    },
    {tree_body, crossing_flags}};

}  // namespace tutti
