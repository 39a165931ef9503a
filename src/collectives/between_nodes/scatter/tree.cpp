// Scatter between nodes: a tree with base P + 1, all ranks of a node at once, overlapped with the scatter inside.
//
// Phase 1: the root says where its blocks are. Phase 2, round by round: a node with the blocks of a range of nodes divides
// the range in up to P + 1 parts; lane l sends one of them to its first node, which goes on in the same way. On the root's
// node all ranks send straight from the root's buffer; where that is not mapped, or blocks of a message do not follow each
// other in it, each packs what it sends. Phase 3, while that is sent: each rank of a node copies its own block.
// Cost, section III.A.1: the greater one of alpha_e ceil(log_{P+1} N) + n (N - 1) P beta_e between nodes and
// alpha_r + n beta_r inside, since the ranks copy at once; with N n beta_r more on the root's node where they have to pack.
// Requires: blocks of the same size. PiP-MColl, section III.A.1; the root may be any rank, N any number.

#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/root_blocks.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

/// On the root's node.
Task from_root(Operation& operation, RootedCrossing& crossing, const Packed& packed,
               const ScatterArguments& arguments) {
  if (!crossing.is_root) co_await crossing.lent();
  RootBlocks blocks(operation, crossing, arguments.send, Side::source, arguments.receive ? -1 : arguments.root);
  co_await blocks.filled();
  blocks.make_messages(packed, 0);
  co_await operation.copied();
  blocks.send(0);
  if (arguments.receive) blocks.copy_own_to(arguments.receive, arguments.bytes);
  co_await operation.copied();
}

/// On other nodes. A node's only rank receives its block where it belongs.
Task from_other_node(Operation& operation, RootedCrossing& crossing, const Packed& packed,
                     const ScatterArguments& arguments) {
  NodeParts parts{arguments.receive, &packed.starts, crossing.tree.nodes.begin};
  const bool alone = parts.bytes(crossing.tree.nodes) == arguments.bytes;
  if (!alone) {
    crossing.lend(parts.bytes(crossing.tree.nodes));
    co_await crossing.lent();
    parts.area = crossing.area();
  }
  co_await scatter_along_tree(operation, crossing, parts, 0);
  if (!alone && arguments.bytes > 0)
    copy_bytes(arguments.receive, parts.at(crossing.node) + packed.in_node(crossing.self), arguments.bytes);
}

Task tree_body(Operation& operation, const ScatterArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  const Packed packed(crossing.nodes, arguments.bytes);
  if (crossing.at_root)
    co_await from_root(operation, crossing, packed, arguments);
  else
    co_await from_other_node(operation, crossing, packed, arguments);
  co_await leave(operation, crossing);
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> between_nodes_scatter_tree;
const selection::Algorithm<ScatterArguments> between_nodes_scatter_tree{
    "multi-object-tree",
    {"ceil(log_{P+1} N)", "(N-1) P n, the root's", "PiP-MColl III.A.1; any root, N and P"},
    selection::requires_nodes_and_equal_blocks,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{.hops = 2 + rounds,
                             .beside = {.copied_bytes = bytes * (1 + (shape.runs > 1 ? shape.nodes : 0))},
                             .between = {.rounds = rounds,
                                         .messages = network::tree_messages(shape.nodes, shape.places),
                                         .bytes = (shape.nodes - 1.0) * shape.places * bytes}};
    },
    {tree_body, crossing_flags}};

}  // namespace tutti
