// Scatter and Scatterv between nodes, where only the root knows the sizes: the tree with base P + 1, once for the sizes and
// once for the blocks.
//
// Phase 1: the root lists the sizes of all blocks in memory that its node shares. Phase 2: they go along the tree of the
// scatter, so that each node knows those of all nodes below it. Phase 3: the root packs the blocks in the order of nodes;
// they go along the tree in the same way, and each rank of a node copies its own while they are sent on. Long blocks go in
// slices, one after the other.
// Cost: 2 alpha_e ceil(log_{P+1} N) + ((N - 1) P n + 8 (N - 1) P) beta_e for blocks of n bytes about.
// Requires: nothing. After PiP-MColl, section III.A.1, which has blocks of one size.

#include <algorithm>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/slices.h"

namespace tutti {

namespace {

Task body(Operation& operation, const Spanning& spanning, const ScatterArguments& arguments) {
  const int root_node = spanning.nodes.node_of(arguments.root);
  const bool at_root = spanning.node() == root_node;
  const bool is_root = spanning.rank == arguments.root;
  Crossing crossing(operation, spanning, at_root ? spanning.nodes.place_of(arguments.root) : 0);
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  const network::TreePlace tree = network::tree_place(crossing.nodes.count(), crossing.lanes, root_node, crossing.node);
  const Packed listed(crossing.nodes, sizeof(std::uint64_t));
  NodeParts lists{nullptr, &listed.starts, tree.nodes.begin};
  crossing.lend(lists.bytes(tree.nodes));
  co_await crossing.lent();
  lists.area = crossing.area();
  auto* const sizes = reinterpret_cast<std::uint64_t*>(lists.area);
  if (is_root) {
    std::uint64_t* size = sizes;
    for (int node = 0; node < crossing.nodes.count(); ++node)
      for (const int rank : crossing.nodes.ranks_of(node))
        *size++ = arguments.send.size(static_cast<std::size_t>(rank));
  }
  if (at_root) co_await crossing.together();
  co_await scatter_along_tree(operation, crossing, tree, lists, 0, 1);
  const Slices slices(operation, sizes, lists.bytes(tree.nodes) / sizeof *sizes,
                      static_cast<std::size_t>(crossing.nodes.ranks()));
  for (int slice = 0; slice < slices.count(); ++slice) {
    const Packed packed(crossing.nodes, tree.nodes, slices.sizes(slice).data());
    NodeParts parts{nullptr, &packed.starts, tree.nodes.begin, slice > 0};
    co_await room_for_slice(operation, crossing, slice, parts.bytes(tree.nodes));
    parts.area = crossing.more();
    if (is_root) {
      Blocks blocks = arguments.send;
      blocks.base += slices.begin(slice);
      for (int node = 0; node < crossing.nodes.count(); ++node) packed.pack(node, blocks, parts.at(node));
    }
    if (at_root) co_await crossing.together();
    co_await scatter_along_tree(operation, crossing, tree, parts, rounds * (1 + slice), 2 + slice);
    const std::size_t bytes = operation.fitting(packed.size(spanning.rank),
                                                arguments.receive ? slices.bytes(slice, arguments.bytes) : SIZE_MAX);
    if (arguments.receive && bytes > 0)
      copy_bytes(arguments.receive + slices.begin(slice), parts.at(crossing.node) + packed.in_node(spanning.rank),
                 bytes);
  }
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<ScatterArguments> between_nodes_scatter_irregular;
const SpanningAlgorithm<ScatterArguments> between_nodes_scatter_irregular{
    "multi-object-sizes-tree",
    "2 ceil(log_{P+1} N)",
    "(N-1) P (n + 8), the root's",
    "after PiP-MColl III.A.1",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return network::Cost{.rounds = 2 * rounds,
                           .messages = 2 * network::tree_messages(shape.nodes, shape.places),
                           .bytes = (shape.nodes - 1.0) * shape.places * (shape.bytes + sizeof(std::uint64_t)),
                           .inside_starts = 4 + 2 * rounds,
                           .inside_bytes = shape.ranks() * shape.bytes,
                           .overlapped_bytes = shape.bytes};
    },
    body};

}  // namespace tutti
