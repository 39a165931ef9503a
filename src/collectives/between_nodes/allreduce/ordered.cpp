// Allreduce between nodes for operators that do not commute, where ranks are dealt out over nodes in any order.
//
// Phase 1: each rank copies its elements into memory that the node shares; of ranks that follow each other the elements
// are combined, one result a run. Phase 2: all nodes get all results, by Bruck's algorithm with base P + 1. Phase 3: each
// rank combines its share of the elements, over all runs in the order of ranks; phase 4: it copies the result.
// Cost: alpha_e ceil(log_{P+1} N) + (R - r) n beta_e for R runs, r of them the node's own; R n / P combined by each rank.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.2, which assumes that operators commute.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task ordered_body(Operation& operation, const AllreduceArguments& arguments) {
  Crossing crossing(operation);
  RunResults results(crossing, *arguments.combiner, arguments.count, by_runs(crossing, *arguments.combiner));
  Folding& folding = results.folding;
  co_await fold_runs(operation, crossing, results, arguments.send, results.starts.back(), 0);
  co_await gather_by_bruck(operation, crossing, results.area, results.starts);
  Sources sources(crossing.memory());
  for (const Runs::Run& run : results.runs.all)
    sources.push_back(results.area + turned(results.starts, run.node, crossing.node) + results.bytes_before(run));
  folding.combine(folding.share(), results.result, sources);
  co_await crossing.together();
  copy_bytes(arguments.receive, results.result, folding.bytes());
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<AllreduceArguments> between_nodes_allreduce_ordered{
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
    {.gathers_runs = true}};

}  // namespace tutti
