// Barrier between nodes: dissemination with base P + 1, all ranks of a node at once.
//
// Phase 1: the ranks of a node wait for each other. Phase 2: ceil(log_{P+1} N) rounds of empty messages, each lane to and
// from another node, as in Bruck's algorithm; after each, the ranks of a node wait for each other.
// Cost: alpha_e ceil(log_{P+1} N), and 1 + ceil(log_{P+1} N) flag hops.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.2.

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task body(Operation& operation, const Spanning& spanning, const BarrierArguments&) {
  Crossing crossing(operation, spanning);
  const Starts nothing(static_cast<std::size_t>(crossing.nodes.count()) + 1);
  co_await crossing.together();
  co_await gather_by_bruck(operation, crossing, nullptr, nothing, 0);
}

}  // namespace

extern const SpanningAlgorithm<BarrierArguments> between_nodes_barrier_dissemination;
const SpanningAlgorithm<BarrierArguments> between_nodes_barrier_dissemination{
    "multi-object-dissemination",
    "ceil(log_{P+1} N)",
    "0",
    "after PiP-MColl III.A.2",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return network::Cost{.rounds = rounds,
                           .messages = network::bruck_messages(shape.nodes, shape.places),
                           .inside_starts = 1 + rounds};
    },
    body};

}  // namespace tutti
