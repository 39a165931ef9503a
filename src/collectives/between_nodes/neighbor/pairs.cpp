// Neighbor_allgather(v) and Neighbor_alltoall(v,w) between nodes: every rank sends and receives for itself.
//
// Phase 1: each rank posts its messages with all its neighbors, those of its own node included, from and to its own
// buffers. Phase 2: it waits for them.
// Cost: d messages of n bytes a rank with d neighbors, all posted at once.
// Requires: nothing. MPI 4.1, section 8.6; no multi-object algorithm: what neighbors have for each other has nothing in
// common that could be put together.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/crossing.h"

namespace tutti {

namespace {

/// Two ranks may be neighbors several times over. The receiver's block is the step, which tells their messages apart.
Task pairs_body(Operation& operation, const NeighborArguments& arguments) {
  Crossing crossing(operation);
  for (int i = 0; i < arguments.source_count; ++i) {
    const auto block = static_cast<std::size_t>(i);
    if (arguments.sources[i] >= 0)
      crossing.receive_from(arguments.sources[i], i, arguments.receive.at(block), arguments.receive.size(block));
  }
  for (int i = 0; i < arguments.destination_count; ++i) {
    const auto block = static_cast<std::size_t>(i);
    if (arguments.destinations[i] >= 0)
      crossing.send_to(arguments.destinations[i], arguments.destination_blocks[i], arguments.send.at(block),
                       arguments.send.size(block));
  }
  co_await crossing.over();
}

}  // namespace

selection::Algorithm<NeighborArguments> between_nodes_neighbor_pairs{
    "pairs",
    {"1", "n a neighbor on another node", "MPI 4.1, 8.6"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      // How many neighbors there are is not known: one for each rank of a node.
      return selection::Cost{.between = {.rounds = 1, .messages = 1.0 * shape.places, .bytes = shape.places * bytes}};
    },
    {pairs_body, crossing_flags}};

}  // namespace tutti
