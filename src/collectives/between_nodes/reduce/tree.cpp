// Reduce between nodes: a tree with base P + 1, all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares, and combines its share of all of them. Phase 2,
// round by round: the lanes of a node receive what the nodes below it have combined, of up to P ranges of nodes; each rank
// combines its share of the elements, in the order of nodes; then one lane sends the result on. Phase 3: the root copies.
// Cost: alpha_e ceil(log_{P+1} N); to the node that receives most, n bytes a branch; inside n copied, and about
// n + n ceil(log_{P+1} N) combined by each rank.
// Requires: a commutative operator, or nodes in the order of ranks. In the spirit of PiP-MColl, sections III.A.3 and III.C.

#include <algorithm>

#include "collectives/between_nodes/folding.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

/// The children of a round, in the order of nodes, and how many of them come before the node's own range.
struct Round {
  std::vector<network::Branch> children;
  std::size_t before = 0;
};

std::vector<Round> rounds_of_tree(const network::TreePlace& tree, int rounds, int self) {
  std::vector<Round> all(static_cast<std::size_t>(rounds));
  for (const network::Branch& child : tree.children) {
    Round& round = all[static_cast<std::size_t>(rounds - 1 - child.round)];
    round.children.push_back(child);
    round.before += child.nodes.begin < static_cast<std::size_t>(self);
  }
  return all;
}

Task tree_body(Operation& operation, const ReduceArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  Folding folding(crossing, *arguments.combiner, arguments.count);
  const int nodes = crossing.nodes.count();
  const std::vector<Round> rounds =
      rounds_of_tree(crossing.tree, network::rounds_of(nodes, crossing.lanes), crossing.node);
  std::size_t others = 0;
  for (const Round& round : rounds) others = std::max(others, round.children.size());
  FoldingArea area;
  co_await fold_node(operation, crossing, folding, arguments.send, others, area);
  std::vector<const std::byte*> sources;
  for (std::size_t step = 0; step < rounds.size(); ++step) {
    const Round& round = rounds[step];
    if (!round.children.empty()) {
      sources.clear();
      for (std::size_t i = 0; i < round.children.size(); ++i) {
        const network::Branch& from = round.children[i];
        if (i == round.before) sources.push_back(area.combined);
        std::byte* const here = area.received + i * folding.stride();
        sources.push_back(here);
        if (crossing.serves(from.lane))
          crossing.receive(from.node, from.lane, static_cast<int>(step), here, folding.bytes());
      }
      if (round.before == round.children.size()) sources.push_back(area.combined);
      co_await crossing.received();
      co_await crossing.together();
      folding.combine(folding.share(), area.combined, sources);
      co_await crossing.together();
    }
  }
  if (crossing.tree.parent && crossing.serves(crossing.tree.parent->lane))
    crossing.send(crossing.tree.parent->node, crossing.tree.parent->lane,
                  static_cast<int>(rounds.size()) - 1 - crossing.tree.parent->round, area.combined, folding.bytes());
  if (crossing.is_root) copy_bytes(arguments.receive, area.combined, folding.bytes());
  co_await leave(operation, crossing);
}

}  // namespace

extern const selection::Algorithm<ReduceArguments> between_nodes_reduce_tree;
const selection::Algorithm<ReduceArguments> between_nodes_reduce_tree{
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
