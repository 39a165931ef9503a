// Bcast between nodes: a tree with base P + 1, all ranks of a node at once.
//
// Phase 1: the root copies the message into memory that its node shares. Phase 2, round by round: each lane of a node that
// has the message sends it to one more node. Phase 3, while that is sent: each rank copies it to its own buffer.
// Cost: alpha_e ceil(log_{P+1} N), and of the node that sends most, n bytes a branch; inside alpha_r + n beta_r.
// Requires: nothing. In the spirit of PiP-MColl, sections III.A.1 and III.C.

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task body(Operation& operation, const Spanning& spanning, const BcastArguments& arguments) {
  const int root_node = spanning.nodes.node_of(arguments.root);
  const bool at_root = spanning.node() == root_node;
  Crossing crossing(operation, spanning, at_root ? spanning.nodes.place_of(arguments.root) : 0);
  const network::TreePlace tree = network::tree_place(crossing.nodes.count(), crossing.lanes, root_node, crossing.node);
  crossing.lend(arguments.bytes);
  co_await crossing.lent();
  std::byte* const area = crossing.area();
  const bool is_root = spanning.rank == arguments.root;
  if (at_root) {
    if (is_root) copy_bytes(area, arguments.buffer, arguments.bytes);
    co_await crossing.together();
  } else if (crossing.serves(tree.parent->lane)) {
    crossing.receive(tree.parent->node, tree.parent->lane, tree.parent->round, area, arguments.bytes);
    co_await crossing.received();
    crossing.announce(1);
  } else {
    co_await crossing.announced(tree.parent->lane % crossing.places, 1);
  }
  for (const network::Branch& to : tree.children)
    if (crossing.serves(to.lane)) crossing.send(to.node, to.lane, to.round, area, arguments.bytes);
  if (!is_root) copy_bytes(arguments.buffer, area, arguments.bytes);
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<BcastArguments> between_nodes_bcast_tree;
const SpanningAlgorithm<BcastArguments> between_nodes_bcast_tree{
    "multi-object-tree",
    "ceil(log_{P+1} N)",
    "n a branch, at most P ceil(log_{P+1} N)",
    "after PiP-MColl III.A.1 and III.C",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double messages = network::tree_messages(shape.nodes, shape.places);
      return network::Cost{.rounds = rounds,
                           .messages = messages,
                           .bytes = messages * shape.bytes,
                           .inside_starts = 2 + rounds,
                           .inside_bytes = 2 * shape.bytes};
    },
    body};

}  // namespace tutti
