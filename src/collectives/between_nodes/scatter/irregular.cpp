// Scatter and Scatterv between nodes, where only the root knows the sizes: the tree with base P + 1, once for the sizes and
// once for the blocks.
//
// Phase 1: the root says where its blocks are and how long. Phase 2: their sizes go along the tree of the scatter, so that
// each node knows those of all nodes below it. Phase 3: the blocks go along the tree in the same way, from the root's
// buffer or packed by the ranks that send them, and each rank of a node copies its own while they are sent on. Long blocks go
// in slices, one after the other.
// Cost: 2 alpha_e ceil(log_{P+1} N) + ((N - 1) P n + 8 (N - 1) P) beta_e for blocks of n bytes about; inside as the tree for
// blocks of one size.
// Requires: nothing. After PiP-MColl, section III.A.1, which has blocks of one size.

#include <algorithm>

#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/root_blocks.h"
#include "collectives/between_nodes/slices.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

/// On the root's node.
Task lists_from_root(Operation& operation, RootedCrossing& crossing, const Packed& listed,
                     const ScatterArguments& arguments) {
  if (!crossing.is_root) co_await crossing.lent();
  RootBlocks blocks(operation, crossing, arguments.send, Side::source, arguments.receive ? -1 : arguments.root);
  co_await blocks.filled();
  std::vector<std::uint64_t> sizes;
  for (int node = 0; node < crossing.nodes.count(); ++node)
    for (const int rank : crossing.nodes.ranks_of(node)) sizes.push_back(blocks.size(rank));
  const Slices slices(operation, sizes.data(), sizes.size(), sizes.size());
  const std::size_t list_bytes = listed.starts.back();
  {
    // The first slice is the longest.
    const Packed first(crossing.nodes, crossing.tree.nodes, slices.sizes(0));
    NodeParts lists{operation.scratch(list_bytes + blocks.bytes_to_copy(first, 0)), &listed.starts, 0};
    std::memcpy(lists.area, sizes.data(), list_bytes);
    co_await scatter_along_tree(operation, crossing, lists, 0);
  }
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  for (int slice = 0; slice < slices.count(); ++slice) {
    if (slice > 0) co_await crossing.over();
    const Packed packed(crossing.nodes, crossing.tree.nodes, slices.sizes(slice));
    blocks.make_messages(packed, slices.begin(slice), list_bytes);
    co_await operation.copied();
    blocks.send(rounds * (1 + slice));
  }
  if (arguments.receive)
    blocks.copy_own_to(arguments.receive, operation.fitting(blocks.size(crossing.self), arguments.bytes));
  co_await operation.copied();
}

/// On other nodes.
Task lists_from_other_node(Operation& operation, RootedCrossing& crossing, const Packed& listed,
                           const ScatterArguments& arguments) {
  NodeParts lists{nullptr, &listed.starts, crossing.tree.nodes.begin};
  crossing.lend(lists.bytes(crossing.tree.nodes));
  co_await crossing.lent();
  lists.area = crossing.area();
  co_await scatter_along_tree(operation, crossing, lists, 0, 1);
  const auto* const sizes = reinterpret_cast<const std::uint64_t*>(lists.area);
  const Slices slices(operation, sizes, lists.bytes(crossing.tree.nodes) / sizeof *sizes,
                      static_cast<std::size_t>(crossing.nodes.ranks()));
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  for (int slice = 0; slice < slices.count(); ++slice) {
    const Packed packed(crossing.nodes, crossing.tree.nodes, slices.sizes(slice));
    NodeParts parts{nullptr, &packed.starts, crossing.tree.nodes.begin};
    co_await room_for_slice(operation, crossing, slice, parts.bytes(crossing.tree.nodes));
    parts.area = crossing.more();
    co_await scatter_along_tree(operation, crossing, parts, rounds * (1 + slice), 2 + slice);
    const std::size_t bytes = operation.fitting(packed.size(crossing.self), slices.bytes(slice, arguments.bytes));
    if (bytes > 0)
      copy_bytes(arguments.receive + slices.begin(slice), parts.at(crossing.node) + packed.in_node(crossing.self),
                 bytes);
  }
}

Task irregular_body(Operation& operation, const ScatterArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root);
  const Packed listed(crossing.nodes, sizeof(std::uint64_t));
  if (crossing.at_root)
    co_await lists_from_root(operation, crossing, listed, arguments);
  else
    co_await lists_from_other_node(operation, crossing, listed, arguments);
  co_await leave(operation, crossing);
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> between_nodes_scatter_irregular;
const selection::Algorithm<ScatterArguments> between_nodes_scatter_irregular{
    "multi-object-sizes-tree",
    {"2 ceil(log_{P+1} N)", "(N-1) P (n + 8), the root's", "after PiP-MColl III.A.1"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return selection::Cost{
          .hops = 4 + 2 * rounds,
          .beside = {.copied_bytes = bytes * (1 + (shape.runs > 1 ? shape.nodes : 0))},
          .between = {.rounds = 2 * rounds,
                      .messages = 2 * network::tree_messages(shape.nodes, shape.places),
                      .bytes = (shape.nodes - 1.0) * shape.places * (bytes + sizeof(std::uint64_t))}};
    },
    {irregular_body, crossing_flags}};

}  // namespace tutti
