// Allreduce between nodes for operators that do not commute, where ranks are dealt out over nodes in any order.
//
// Phase 1: each rank copies its elements into memory that the node shares; of ranks that follow each other the elements
// are combined, one result a run. Phase 2: all nodes get all results, by Bruck's algorithm with base P + 1. Phase 3: each
// rank combines its share of the elements, over all runs in the order of ranks; phase 4: it copies the result.
// Cost: alpha_e ceil(log_{P+1} N) + (R - r) n beta_e for R runs, r of them the node's own; R n / P combined by each rank.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.2, which assumes that operators commute.

#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

Task ordered_body(Operation& operation, const AllreduceArguments& arguments) {
  Crossing crossing(operation);
  Folding folding(crossing, *arguments.combiner, arguments.count);
  const Runs runs(crossing.nodes, by_runs(crossing.nodes, *arguments.combiner));
  Starts starts{0};
  for (int node = 0; node < crossing.nodes.count(); ++node)
    starts.push_back(starts.back() + static_cast<std::size_t>(runs.count(node)) * folding.bytes());
  const auto places = static_cast<std::size_t>(crossing.places);
  const std::size_t gathered_bytes = whole_lines(starts.back());
  crossing.lend(gathered_bytes + (places + 1) * folding.stride());
  co_await crossing.lent();
  std::byte* const gathered = crossing.area();
  std::byte* const contributions = gathered + gathered_bytes;
  std::byte* const result = contributions + places * folding.stride();
  copy_bytes(contributions + static_cast<std::size_t>(crossing.place) * folding.stride(), arguments.send,
             folding.bytes());
  co_await crossing.together();
  fold_runs(folding, runs, crossing.node, contributions, gathered);
  co_await crossing.together();
  co_await gather_by_bruck(operation, crossing, gathered, starts, 0);
  std::vector<const std::byte*> sources;
  for (const Runs::Run& run : runs.all)
    sources.push_back(gathered + turned(starts, run.node, crossing.node) +
                      static_cast<std::size_t>(run.index) * folding.bytes());
  folding.combine(folding.share(), result, sources);
  co_await crossing.together();
  copy_bytes(arguments.receive, result, folding.bytes());
  co_await leave(operation, crossing);
}

}  // namespace

extern const selection::Algorithm<AllreduceArguments> between_nodes_allreduce_ordered;
const selection::Algorithm<AllreduceArguments> between_nodes_allreduce_ordered{
    "multi-object-ordered",
    {"ceil(log_{P+1} N)", "(N-1) n for each run of ranks on a node", "after PiP-MColl III.A.2"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{.hops = 4 + rounds,
                             .copied_bytes = 2 * bytes,
                             .reduced_bytes = bytes + shape.nodes * shape.runs * bytes / shape.places,
                             .between = {.rounds = rounds,
                                         .messages = network::bruck_messages(shape.nodes, shape.places),
                                         .bytes = (shape.nodes - 1.0) * shape.runs * bytes}};
    },
    {ordered_body, crossing_flags},
    {},
    nullptr,
    {.gathers_runs = true}};

}  // namespace tutti
