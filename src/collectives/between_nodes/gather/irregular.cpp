// Gather and Gatherv between nodes, where only the root knows all sizes: the tree with base P + 1, once for the sizes and
// once for the blocks.
//
// Phase 1: each rank writes the size of its block into memory that the node shares. Phase 2: sizes go along the tree of the
// gather, so that each node knows those of all nodes below it, and on the root's node whoever receives from these. Phase 3:
// each rank copies its block; blocks go along the tree in the same way, at the end into the root's buffer, or to ranks that
// unpack them there. Long blocks go in slices, one after the other.
// Cost: 2 alpha_e ceil(log_{P+1} N) + ((N - 1) P n + 8 (N - 1) P) beta_e for blocks of n bytes about; inside as the tree for
// blocks of one size.
// Requires: nothing. After PiP-MColl, section III.A.1, and the two-level Gather of the CMA-aware paper, section VII.G.

#include <algorithm>

#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/root_blocks.h"
#include "collectives/between_nodes/slices.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

/// On the root's node.
Task lists_to_root(Operation& operation, RootedCrossing& crossing, const Packed& listed,
                   const GatherArguments& arguments) {
  const bool is_root = crossing.is_root;
  const auto ranks = static_cast<std::size_t>(crossing.nodes.ranks());
  if (!is_root) co_await crossing.lent();
  RootBlocks blocks(operation, crossing, arguments.receive, Side::destination, arguments.send ? -1 : arguments.root);
  // 0 for all but those of the branches that this rank serves.
  auto* const sizes = operation.array<std::uint64_t>(ranks);
  const NodeParts lists{reinterpret_cast<std::byte*>(sizes), &listed.starts, 0};
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  for (const network::Branch& from : crossing.tree.children)
    if (crossing.serves(from.lane))
      crossing.receive(from.node, from.lane, rounds - 1 - from.round, lists.at(static_cast<int>(from.nodes.begin)),
                       lists.bytes(from.nodes));
  if (arguments.send) blocks.copy_own_from(arguments.send, arguments.bytes);
  co_await crossing.received();
  const Slices slices(operation, sizes, ranks, ranks);
  for (int slice = 0; slice < slices.count(); ++slice) {
    const Packed packed(crossing.nodes, crossing.tree.nodes, slices.sizes(slice));
    blocks.receive(packed, slices.begin(slice), rounds * (1 + slice));
    co_await crossing.received();
    blocks.unpack(packed, slices.begin(slice));
    co_await operation.copied();
  }
  blocks.say_lengths(Packed(crossing.nodes, crossing.tree.nodes, {sizes, sizes + ranks}));
  co_await leave(operation, crossing);
  if (is_root) blocks.collect();
}

/// On other nodes.
Task lists_to_other_node(Operation& operation, RootedCrossing& crossing, const Packed& listed,
                         const GatherArguments& arguments) {
  NodeParts lists{nullptr, &listed.starts, crossing.tree.nodes.begin};
  crossing.lend(lists.bytes(crossing.tree.nodes));
  co_await crossing.lent();
  lists.area = crossing.area();
  reinterpret_cast<std::uint64_t*>(lists.at(crossing.node))[crossing.place] = arguments.bytes;
  co_await crossing.together();
  co_await gather_along_tree(operation, crossing, lists, 0);
  const auto* const sizes = reinterpret_cast<const std::uint64_t*>(lists.area);
  const Slices slices(operation, sizes, lists.bytes(crossing.tree.nodes) / sizeof *sizes,
                      static_cast<std::size_t>(crossing.nodes.ranks()));
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  for (int slice = 0; slice < slices.count(); ++slice) {
    const Packed packed(crossing.nodes, crossing.tree.nodes, slices.sizes(slice));
    NodeParts parts{nullptr, &packed.starts, crossing.tree.nodes.begin};
    co_await room_for_slice(operation, crossing, slice, parts.bytes(crossing.tree.nodes));
    parts.area = crossing.more();
    if (const std::size_t bytes = slices.bytes(slice, arguments.bytes); bytes > 0)
      copy_bytes(parts.at(crossing.node) + packed.in_node(crossing.self), arguments.send + slices.begin(slice), bytes);
    co_await crossing.together();
    co_await gather_along_tree(operation, crossing, parts, rounds * (1 + slice));
  }
  co_await leave(operation, crossing);
}

Task irregular_body(Operation& operation, const GatherArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  const Packed listed(crossing.nodes, sizeof(std::uint64_t));
  if (crossing.at_root)
    co_await lists_to_root(operation, crossing, listed, arguments);
  else
    co_await lists_to_other_node(operation, crossing, listed, arguments);
}

}  // namespace

extern const selection::Algorithm<GatherArguments> between_nodes_gather_irregular;
const selection::Algorithm<GatherArguments> between_nodes_gather_irregular{
    "multi-object-sizes-tree",
    {"2 ceil(log_{P+1} N)", "(N-1) P (n + 8) come to the root's node", "after PiP-MColl III.A.1, CMA-aware VII.G"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{
          .hops = 6,
          .copied_bytes = bytes * (1 + (shape.runs > 1 ? shape.nodes : 0)),
          .between = {.rounds = 2 * rounds,
                      .messages = 2 * network::tree_messages(shape.nodes, shape.places),
                      .bytes = (shape.nodes - 1.0) * shape.places * (bytes + sizeof(std::uint64_t))}};
    },
    {irregular_body, crossing_flags}};

}  // namespace tutti
