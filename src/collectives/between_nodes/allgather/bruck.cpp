// Allgather between nodes, for small messages: Bruck's algorithm with base P + 1, all ranks of a node at once.
//
// Phase 1: each rank copies its block into memory that the node shares. Phase 2: ceil(log_{P+1} N) rounds; in a round in
// which nodes have S nodes' blocks, lane l gets those of the node (l + 1) S further, sends its own to the one as far
// before, and the ranks of the node wait for each other. In the last round lanes carry what is missing, or nothing.
// Phase 3: each rank copies all blocks to where they belong, which turns them back.
// Cost, section III.A.2: alpha_e ceil(log_{P+1} N) + (N - 1) P C_b beta_e between nodes, then (1 + N P (P - 1) C_b beta_r)
// inside. The paper prints (C_b P - 1) C_b P beta_e; what Bruck's algorithm moves, and a count of it here shows, is
// N - 1 nodes' blocks. Inside, the ranks copy at once: n into the shared memory and N P n out of it.
// Requires: nothing. PiP-MColl, section III.A.2; nodes of different sizes are ours: there the lanes are as many as the
// largest node has ranks.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

Task bruck_body(Operation& operation, const AllgatherArguments& call) {
  Crossing crossing(operation);
  const AllgatherArguments arguments = piece_of(operation, crossing, call);
  const Packed packed(crossing, arguments.receive);
  std::byte* const area = co_await crossing.lend(packed.starts.back());
  const auto self = static_cast<std::size_t>(crossing.self);
  const std::byte* const own = arguments.send ? arguments.send : arguments.receive.at(self);
  if (packed.size(crossing.self) > 0) copy_bytes(area + packed.in_node(crossing.self), own, packed.size(crossing.self));
  co_await crossing.together();
  co_await gather_by_bruck(operation, crossing, area, packed.starts);
  const int except = arguments.send ? -1 : crossing.self;
  {
    JoinedCopies copies;
    for (int node = 0; node < crossing.nodes.count(); ++node)
      packed.unpack(node, area + turned(packed.starts, node, crossing.node), arguments.receive, except, copies);
  }
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<AllgatherArguments> between_nodes_allgather_bruck{
    "multi-object-bruck",
    {"ceil(log_{P+1} N)", "(N-1) P n", "PiP-MColl III.A.2; any N and P"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{.hops = 2 + rounds,
                             .copied_bytes = (1 + shape.nodes * shape.places) * bytes,
                             .between = {.rounds = rounds,
                                         .messages = network::bruck_messages(shape.nodes, shape.places),
                                         .bytes = (shape.nodes - 1.0) * shape.places * bytes}};
    },
    {bruck_body, crossing_flags}};

}  // namespace tutti
