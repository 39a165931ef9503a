// Scan and Exscan between nodes: what runs of ranks come to is gathered by all nodes, all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares; of ranks that follow each other the elements
// are combined, one result a run. Phase 2: all nodes get all results, by Bruck's algorithm with base P + 1. Phase 3: each
// rank combines the runs before its own and, of its own, the ranks up to itself.
// Cost: alpha_e ceil(log_{P+1} N) + (R - r) n beta_e for R runs, r of them the node's own; up to (R + P) n combined by
// the last rank.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.2.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

Task ordered_body(Operation& operation, const ScanArguments& arguments) {
  Crossing crossing(operation);
  RunResults results(crossing, *arguments.combiner, arguments.count, true);
  Folding& folding = results.folding;
  co_await fold_runs(operation, crossing, results, arguments.send, results.starts.back(), 0);
  co_await gather_by_bruck(operation, crossing, results.area, results.starts);
  Sources sources(crossing.memory());
  const int end = crossing.place + (arguments.exclusive ? 0 : 1);
  for (const Runs::Run& run : results.runs.all) {
    if (run.node == crossing.node && run.first_place + run.places > crossing.place) {
      for (int place = run.first_place; place < end; ++place)
        sources.push_back(results.contributions + static_cast<std::size_t>(place) * folding.stride());
      break;
    }
    sources.push_back(results.area + turned(results.starts, run.node, crossing.node) + results.bytes_before(run));
  }
  // Exscan leaves the first rank's buffer alone.
  if (!sources.empty()) folding.combine({0, arguments.count}, arguments.receive, sources);
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<ScanArguments> between_nodes_scan_ordered{
    "multi-object-ordered",
    {"ceil(log_{P+1} N)", "(N-1) n for each run of ranks on a node", "after PiP-MColl III.A.2"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double runs = static_cast<double>(shape.nodes) * shape.runs;
      return selection::Cost{.hops = 3 + rounds,
                             .copied_bytes = bytes,
                             .reduced_bytes = (1 + runs + shape.places) * bytes,
                             .between = {.rounds = rounds,
                                         .messages = network::bruck_messages(shape.nodes, shape.places),
                                         .bytes = (shape.nodes - 1.0) * shape.runs * bytes}};
    },
    {ordered_body, crossing_flags},
    {.gathers_runs = true}};

}  // namespace tutti
