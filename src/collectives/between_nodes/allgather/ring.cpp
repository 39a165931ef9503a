// Allgather between nodes, for large messages: a ring of nodes, all ranks of a node at once, overlapped with the broadcast
// inside.
//
// Phase 1: each rank copies its block into memory that the node shares. Phase 2: N - 1 steps; in each, every rank sends
// its lane's share of the part that came last to the node behind, and receives its share of the next one from the node
// before. If all nodes have P ranks and all blocks n bytes, a share is one block. Phase 3, meanwhile: each rank copies
// the parts that are there to where they belong, step by step.
// Cost, section III.B.1: alpha_r + (P - 1) n beta_r, then the greater one of alpha_e (N - 1) + P n (N - 1) beta_e between
// nodes and alpha_r (N - 1) + (P - 1) N P n beta_r inside. Inside, the ranks copy at once: N P n each.
// Requires: nothing. PiP-MColl, section III.B.1, Figure 4.

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

Task collect(Operation&, Crossing& crossing, const Packed& packed, NodeParts parts, const AllgatherArguments& arguments,
             int except) {
  for (int step = 0; step < crossing.nodes.count(); ++step) {
    const int part = part_of_step(crossing, step);
    if (step > 0) co_await crossing.all_announced(step);
    packed.unpack(part, parts.at(part), arguments.receive, except);
  }
}

Task body(Operation& operation, const Spanning& spanning, const AllgatherArguments& arguments) {
  Crossing crossing(operation, spanning);
  const Packed packed(crossing.nodes, arguments.receive);
  crossing.lend(packed.starts.back());
  co_await crossing.lent();
  const NodeParts parts{crossing.area(), &packed.starts};
  const auto self = static_cast<std::size_t>(spanning.rank);
  const std::byte* const own = arguments.send ? arguments.send : arguments.receive.at(self);
  if (packed.size(spanning.rank) > 0)
    copy_bytes(parts.at(crossing.node) + packed.in_node(spanning.rank), own, packed.size(spanning.rank));
  co_await crossing.together();
  const int except = arguments.send ? -1 : spanning.rank;
  co_await operation.both(ring(operation, crossing, parts, 0),
                          collect(operation, crossing, packed, parts, arguments, except));
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<AllgatherArguments> between_nodes_allgather_ring;
const SpanningAlgorithm<AllgatherArguments> between_nodes_allgather_ring{
    "multi-object-ring",
    "N-1",
    "(N-1) P n",
    "PiP-MColl III.B.1; any N and P",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double steps = shape.nodes - 1.0;
      return network::Cost{.rounds = steps,
                           .messages = steps * shape.places,
                           .bytes = steps * shape.places * shape.bytes,
                           .inside_starts = 2,
                           .inside_bytes = shape.bytes,
                           .overlapped_bytes = shape.ranks() * shape.bytes};
    },
    body};

}  // namespace tutti
