// Allreduce between nodes, for small messages: an exchange with base P + 1, all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares, and combines its share of all of them. Phase 2:
// ceil(log_{P+1} N) rounds. Nodes are divided into ranges of ranges, up to P + 1 at a time. In a round, the lanes of a
// node send what it has combined to nodes of the other parts of its range, and receive what those parts have; then each
// rank combines its share of the elements. Phase 3: each rank copies the result.
// Cost, section III.A.3: alpha_r ceil(log_2 P) + n ceil(log_2 P) (beta_r + gamma) inside, then
// alpha_e ceil(log_{P+1} N) + n P ceil(log_{P+1} N) beta_e + n ceil(log_{P+1} N) gamma. If N is a power of P + 1 exactly
// this is sent; for other N less is received by every node, and no node sends more than one message more in a round.
// Inside, the ranks share the elements: (P - 1) n / P combined by each in phase 1.
// Requires: a commutative operator, or nodes in the order of ranks. PiP-MColl, section III.A.3, with another shape for
// other N than powers of P + 1: the paper's windows (Bruck) begin with each node itself, so that every node combines in
// another order, and gets other bits of sums of floating-point numbers. Here all nodes combine the same ranges.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/folding.h"

namespace tutti {

namespace {

Task exchange_body(Operation& operation, const AllreduceArguments& arguments) {
  Crossing crossing(operation);
  RunResults results(crossing, *arguments.combiner, arguments.count, false);
  Folding& folding = results.folding;
  const auto rounds =
      network::exchange_rounds(crossing.nodes.count(), crossing.lanes, crossing.node, crossing.memory());
  std::size_t others = 0;
  for (const network::ExchangeRound& round : rounds) others = std::max(others, round.receives.size());
  co_await fold_runs(operation, crossing, results, arguments.send, (1 + others) * folding.stride(), 0);
  // Of the node's ranks, and of what has come; behind it what comes from other nodes in one round.
  std::byte* const combined = results.area;
  std::byte* const received = combined + folding.stride();
  Sources sources(crossing.memory());
  for (std::size_t step = 0; step < rounds.size(); ++step) {
    const network::ExchangeRound& round = rounds[step];
    sources.assign(static_cast<std::size_t>(round.parts), combined);
    for (std::size_t i = 0; i < round.receives.size(); ++i) {
      const network::ExchangeRound::End& from = round.receives[i];
      std::byte* const here = received + i * folding.stride();
      sources[static_cast<std::size_t>(from.part)] = here;
      if (crossing.serves(from.lane))
        crossing.receive(from.node, from.lane, static_cast<int>(step), here, folding.bytes());
    }
    for (const network::ExchangeRound::End& to : round.sends)
      if (crossing.serves(to.lane)) crossing.send(to.node, to.lane, static_cast<int>(step), combined, folding.bytes());
    co_await crossing.over();
    co_await crossing.together();
    folding.combine(folding.share(), combined, sources);
    co_await crossing.together();
  }
  copy_bytes(arguments.receive, combined, folding.bytes());
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<AllreduceArguments> between_nodes_allreduce_exchange{
    "multi-object-exchange",
    {"ceil(log_{P+1} N)", "n P ceil(log_{P+1} N) for powers of P+1, else less",
     "PiP-MColl III.A.3; the same bits everywhere, in the order of nodes"},
    selection::requires_order_of_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double messages = network::exchange_messages(shape.nodes, shape.places);
      return selection::Cost{.hops = 3 + 2 * rounds,
                             .copied_bytes = 2 * bytes,
                             .reduced_bytes = bytes + (messages + rounds) * bytes / shape.places,
                             .between = {.rounds = rounds, .messages = messages, .bytes = messages * bytes}};
    },
    {exchange_body, crossing_flags}};

}  // namespace tutti
