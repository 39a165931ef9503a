// Reduce between nodes for operators that do not commute, where ranks are dealt out over nodes in any order.
//
// Phase 1: each rank copies its elements into memory that the node shares; of ranks that follow each other the elements
// are combined, one result a run. Phase 2: the results go to the root's node, along the tree of the gather. Phase 3: the
// ranks there combine their shares of the elements, over all runs in the order of ranks, and the root copies the result.
// Cost: alpha_e ceil(log_{P+1} N) + (R - r) n beta_e for R runs, r of them of the root's node; R n / P combined by each
// rank there.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.1, the other way round.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task ordered_body(Operation& operation, const ReduceArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  RunResults results(crossing, *arguments.combiner, arguments.count, by_runs(crossing, *arguments.combiner));
  Folding& folding = results.folding;
  NodeParts parts{nullptr, &results.starts, crossing.tree.nodes.begin};
  co_await fold_runs(operation, crossing, results, arguments.send, parts.bytes(crossing.tree.nodes),
                     place_at(results.starts, crossing.node, parts.first));
  parts.area = results.area;
  co_await gather_along_tree(operation, crossing, parts, 0);
  if (crossing.at_root) {
    Sources sources(crossing.memory());
    for (const Runs::Run& run : results.runs.all) sources.push_back(parts.at(run.node) + results.bytes_before(run));
    folding.combine(folding.share(), results.result, sources);
    co_await crossing.together();
    if (crossing.is_root) copy_bytes(arguments.receive, results.result, folding.bytes());
  }
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<ReduceArguments> between_nodes_reduce_ordered{
    "multi-object-ordered",
    {"ceil(log_{P+1} N)", "(N-1) n for each run of ranks on a node come to the root's node", "after PiP-MColl III.A.1"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{.hops = 5,
                             .copied_bytes = 2 * bytes,
                             .reduced_bytes = bytes + shape.nodes * shape.runs * bytes / shape.places,
                             .between = {.rounds = rounds,
                                         .messages = network::tree_messages(shape.nodes, shape.places),
                                         .bytes = (shape.nodes - 1.0) * shape.runs * bytes}};
    },
    {ordered_body, crossing_flags},
    {.gathers_runs = true}};

}  // namespace tutti
