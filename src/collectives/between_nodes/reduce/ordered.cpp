// Reduce between nodes for operators that do not commute, where ranks are dealt out over nodes in any order.
//
// Phase 1: each rank copies its elements into memory that the node shares; of ranks that follow each other the elements
// are combined, one result a run. Phase 2: the results go to the root's node, along the tree of the gather. Phase 3: the
// ranks there combine their shares of the elements, over all runs in the order of ranks, and the root copies the result.
// Cost: alpha_e ceil(log_{P+1} N) + (R - r) n beta_e for R runs, r of them of the root's node; R n / P combined by each
// rank there.
// Requires: nothing. In the spirit of PiP-MColl, section III.A.1, the other way round.

#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

Task ordered_body(Operation& operation, const ReduceArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  Folding folding(crossing, *arguments.combiner, arguments.count);
  const Runs runs(crossing.nodes, by_runs(crossing.nodes, *arguments.combiner));
  Starts starts{0};
  for (int node = 0; node < crossing.nodes.count(); ++node)
    starts.push_back(starts.back() + static_cast<std::size_t>(runs.count(node)) * folding.bytes());
  NodeParts parts{nullptr, &starts, crossing.tree.nodes.begin};
  const std::size_t gathered_bytes = whole_lines(parts.bytes(crossing.tree.nodes));
  const auto places = static_cast<std::size_t>(crossing.places);
  crossing.lend(gathered_bytes + (places + 1) * folding.stride());
  co_await crossing.lent();
  parts.area = crossing.area();
  std::byte* const contributions = parts.area + gathered_bytes;
  std::byte* const result = contributions + places * folding.stride();
  copy_bytes(contributions + static_cast<std::size_t>(crossing.place) * folding.stride(), arguments.send,
             folding.bytes());
  co_await crossing.together();
  fold_runs(folding, runs, crossing.node, contributions, parts.at(crossing.node));
  co_await crossing.together();
  co_await gather_along_tree(operation, crossing, parts, 0);
  if (crossing.at_root) {
    std::vector<const std::byte*> sources;
    for (const Runs::Run& run : runs.all)
      sources.push_back(parts.at(run.node) + static_cast<std::size_t>(run.index) * folding.bytes());
    folding.combine(folding.share(), result, sources);
    co_await crossing.together();
    if (crossing.is_root) copy_bytes(arguments.receive, result, folding.bytes());
  }
  co_await leave(operation, crossing);
}

}  // namespace

extern const selection::Algorithm<ReduceArguments> between_nodes_reduce_ordered;
const selection::Algorithm<ReduceArguments> between_nodes_reduce_ordered{
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
    {},
    nullptr,
    {.gathers_runs = true}};

}  // namespace tutti
