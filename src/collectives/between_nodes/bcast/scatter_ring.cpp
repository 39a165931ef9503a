// Bcast between nodes, for large messages: scattered to the nodes, then gathered by all of them around a ring.
//
// Phase 1: the root copies the message into memory that its node shares. Phase 2: a part of the message goes to each node,
// along the tree of the scatter. Phase 3: the ring of the allgather, all ranks of a node at once; meanwhile each rank
// copies the parts that are there to its buffer.
// Cost: alpha_e (ceil(log_{P+1} N) + N - 1) + 2 n (N - 1) / N beta_e; inside n bytes copied by the root, and n by each
// rank, overlapped with the ring.
// Requires: nothing. Van de Geijn's broadcast on the pieces of PiP-MColl, sections III.A.1 and III.B.1.

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task collect(Operation&, Crossing& crossing, NodeParts parts, std::byte* to) {
  for (int step = 0; step < crossing.nodes.count(); ++step) {
    const int part = part_of_step(crossing, step);
    // The own part was the first announcement.
    co_await crossing.all_announced(step + 1);
    if (parts.bytes(part) > 0) copy_bytes(to + place_at(*parts.starts, part), parts.at(part), parts.bytes(part));
  }
}

Task body(Operation& operation, const Spanning& spanning, const BcastArguments& arguments) {
  const int root_node = spanning.nodes.node_of(arguments.root);
  const bool at_root = spanning.node() == root_node;
  Crossing crossing(operation, spanning, at_root ? spanning.nodes.place_of(arguments.root) : 0);
  const int nodes = crossing.nodes.count();
  const network::TreePlace tree = network::tree_place(nodes, crossing.lanes, root_node, crossing.node);
  Starts starts;
  for (int node = 0; node < nodes; ++node)
    starts.push_back(topology::share_of({0, arguments.bytes}, static_cast<std::size_t>(node),
                                        static_cast<std::size_t>(nodes), cache_line_bytes)
                         .begin);
  starts.push_back(arguments.bytes);
  crossing.lend(arguments.bytes);
  co_await crossing.lent();
  const NodeParts parts{crossing.area(), &starts};
  const bool is_root = spanning.rank == arguments.root;
  if (is_root) copy_bytes(parts.area, arguments.buffer, arguments.bytes);
  if (at_root) co_await crossing.together();
  co_await scatter_along_tree(operation, crossing, tree, parts, 0);
  crossing.announce(1);
  const int scatter_rounds = network::rounds_of(nodes, crossing.lanes);
  if (is_root)
    co_await ring(operation, crossing, parts, scatter_rounds, 1);
  else
    co_await operation.both(ring(operation, crossing, parts, scatter_rounds, 1),
                            collect(operation, crossing, parts, arguments.buffer));
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<BcastArguments> between_nodes_bcast_scatter_ring;
const SpanningAlgorithm<BcastArguments> between_nodes_bcast_scatter_ring{
    "multi-object-scatter-ring",
    "ceil(log_{P+1} N) + N-1",
    "2 n (N-1)/N, the root's",
    "van de Geijn's on PiP-MColl III.A.1 and III.B.1",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double steps = shape.nodes - 1.0;
      return network::Cost{.rounds = rounds + steps,
                           .messages = network::tree_messages(shape.nodes, shape.places) + steps * shape.places,
                           .bytes = 2 * shape.bytes * steps / shape.nodes,
                           .inside_starts = 3,
                           .inside_bytes = shape.bytes,
                           .overlapped_bytes = shape.bytes};
    },
    body};

}  // namespace tutti
