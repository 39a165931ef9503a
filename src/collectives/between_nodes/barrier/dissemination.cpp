// Barrier between nodes: dissemination with base P + 1, all ranks of a node at once.
//
// Phase 1: the ranks of a node wait for each other. Phase 2: ceil(log_{P+1} N) rounds of empty messages, each lane to and
// from another node, as in Bruck's algorithm; after each, the ranks of a node wait for each other.
// Cost: alpha_e ceil(log_{P+1} N), and 1 + ceil(log_{P+1} N) flag hops.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.2.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task dissemination_body(Operation& operation, const BarrierArguments&) {
  Crossing crossing(operation);
  co_await crossing.together();
  co_await bruck_rounds(operation, crossing, [&](const network::BruckLane& part, int lane, int round) {
    crossing.expect_signal(part.from, lane, round);
    crossing.signal(part.to, lane, round);
  });
}

}  // namespace

selection::Algorithm<BarrierArguments> between_nodes_barrier_dissemination{
    "multi-object-dissemination",
    {"ceil(log_{P+1} N)", "0", "after PiP-MColl III.A.2"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{
          .hops = 1 + rounds,
          .between = {.rounds = rounds, .messages = network::bruck_messages(shape.nodes, shape.places)}};
    },
    {dissemination_body, crossing_flags}};

}  // namespace tutti
