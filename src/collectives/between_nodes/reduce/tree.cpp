// Reduce between nodes: a tree with base P + 1, all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares, and combines its share of all of them. Phase 2,
// round by round: the lanes of a node receive what the nodes below it have combined, of up to P ranges of nodes; each rank
// combines its share of the elements, in the order of nodes; then one lane sends the result on. Phase 3: the root copies.
// Cost: alpha_e ceil(log_{P+1} N); to the node that receives most, n bytes a branch; inside n copied, and about
// n + n ceil(log_{P+1} N) combined by each rank.
// Requires: a commutative operator, or nodes in the order of ranks. In the spirit of PiP-MColl, sections III.A.3 and III.C.

#include <span>

#include "collectives/algorithm.h"
#include "collectives/between_nodes/folding.h"

namespace tutti {

namespace {

/// The children of a round, in the order of nodes.
std::span<const network::Branch> children_in(const network::TreePlace& tree, int round) {
  const auto is_before = [](const network::Branch& child, int of) { return child.round < of; };
  const auto begin = std::lower_bound(tree.children.begin(), tree.children.end(), round, is_before);
  return {begin, std::lower_bound(begin, tree.children.end(), round + 1, is_before)};
}

Task tree_body(Operation& operation, const ReduceArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  const network::TreePlace& tree = crossing.tree;
  RunResults results(crossing, *arguments.combiner, arguments.count, false);
  Folding& folding = results.folding;
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  std::size_t others = 0;
  for (int round = 0; round < rounds; ++round) others = std::max(others, children_in(tree, round).size());
  co_await fold_runs(operation, crossing, results, arguments.send, (1 + others) * folding.stride(), 0);
  // Of the node's ranks, and of what has come; behind it what comes from other nodes in one round.
  std::byte* const combined = results.area;
  std::byte* const received = combined + folding.stride();
  Sources sources(crossing.memory());
  for (int step = 0; step < rounds; ++step) {
    const auto children = children_in(tree, rounds - 1 - step);
    if (children.empty()) continue;
    sources.clear();
    std::byte* here = received;
    bool has_own = false;
    for (const network::Branch& from : children) {
      if (!has_own && from.nodes.begin > static_cast<std::size_t>(crossing.node)) {
        sources.push_back(combined);
        has_own = true;
      }
      sources.push_back(here);
      crossing.receive_up(from, 0, here, folding.bytes());
      here += folding.stride();
    }
    if (!has_own) sources.push_back(combined);
    co_await crossing.received();
    co_await crossing.together();
    folding.combine(folding.share(), combined, sources);
    co_await crossing.together();
  }
  if (tree.parent) crossing.send_up(*tree.parent, 0, combined, folding.bytes());
  if (crossing.is_root) copy_bytes(arguments.receive, combined, folding.bytes());
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<ReduceArguments> between_nodes_reduce_tree{
    "multi-object-tree",
    {"ceil(log_{P+1} N)", "n; to the root's node n a branch, at most P ceil(log_{P+1} N)",
     "after PiP-MColl III.A.3 and III.C"},
    selection::requires_order_of_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double messages = network::tree_messages(shape.nodes, shape.places);
      return selection::Cost{.hops = 3 + 2 * rounds,
                             .copied_bytes = bytes,
                             .reduced_bytes = bytes + (messages + rounds) * bytes / shape.places,
                             .between = {.rounds = rounds, .messages = messages, .bytes = messages * bytes}};
    },
    {tree_body, crossing_flags}};

}  // namespace tutti
