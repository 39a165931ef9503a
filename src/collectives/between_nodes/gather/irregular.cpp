// Gather and Gatherv between nodes, where only the root knows all sizes: the tree with base P + 1, once for the sizes and
// once for the blocks.
//
// Phase 1: each rank writes the size of its block into memory that the node shares. Phase 2: sizes go along the tree of the
// gather, so that each node knows those of all nodes below it. Phase 3: each rank copies its block; blocks go along the
// tree in the same way. Phase 4: the root unpacks them. Long blocks go in slices, one after the other.
// Cost: 2 alpha_e ceil(log_{P+1} N) + ((N - 1) P n + 8 (N - 1) P) beta_e for blocks of n bytes about.
// Requires: nothing. After PiP-MColl, section III.A.1, and the two-level Gather of the CMA-aware paper, section VII.G.

#include <algorithm>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/slices.h"

namespace tutti {

namespace {

/// At the root, into blocks that may have less room than was sent.
void unpack(Operation& operation, const Spanning& spanning, const Packed& packed, const NodeParts& parts,
            const GatherArguments& arguments, const Slices& slices, int slice) {
  for (int node = 0; node < spanning.nodes.count(); ++node)
    for (const int rank : spanning.nodes.ranks_of(node)) {
      if (rank == spanning.rank && !arguments.send) continue;
      const auto r = static_cast<std::size_t>(rank);
      const std::size_t room = slices.bytes(slice, arguments.receive.size(r));
      const std::size_t bytes = operation.fitting(packed.size(rank), room);
      std::byte* const to = arguments.receive.at(r) + slices.begin(slice);
      if (bytes > 0) copy_bytes(to, parts.at(node) + packed.in_node(rank), bytes);
    }
}

Task body(Operation& operation, const Spanning& spanning, const GatherArguments& arguments) {
  const int root_node = spanning.nodes.node_of(arguments.root);
  const bool at_root = spanning.node() == root_node;
  Crossing crossing(operation, spanning, at_root ? spanning.nodes.place_of(arguments.root) : 0);
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  const network::TreePlace tree = network::tree_place(crossing.nodes.count(), crossing.lanes, root_node, crossing.node);
  const Packed listed(crossing.nodes, sizeof(std::uint64_t));
  NodeParts lists{nullptr, &listed.starts, tree.nodes.begin};
  crossing.lend(lists.bytes(tree.nodes));
  co_await crossing.lent();
  lists.area = crossing.area();
  // A block in place is not sent.
  const std::size_t own = arguments.send ? arguments.bytes : 0;
  reinterpret_cast<std::uint64_t*>(lists.at(crossing.node))[crossing.place] = own;
  co_await crossing.together();
  co_await gather_along_tree(operation, crossing, tree, lists, 0);
  const auto* const sizes = reinterpret_cast<const std::uint64_t*>(lists.area);
  const Slices slices(operation, sizes, lists.bytes(tree.nodes) / sizeof *sizes,
                      static_cast<std::size_t>(crossing.nodes.ranks()));
  for (int slice = 0; slice < slices.count(); ++slice) {
    const Packed packed(crossing.nodes, tree.nodes, slices.sizes(slice).data());
    NodeParts parts{nullptr, &packed.starts, tree.nodes.begin, slice > 0};
    co_await room_for_slice(operation, crossing, slice, parts.bytes(tree.nodes));
    parts.area = crossing.more();
    if (const std::size_t bytes = slices.bytes(slice, own); bytes > 0)
      copy_bytes(parts.at(crossing.node) + packed.in_node(spanning.rank), arguments.send + slices.begin(slice), bytes);
    co_await crossing.together();
    co_await gather_along_tree(operation, crossing, tree, parts, rounds * (1 + slice));
    if (spanning.rank == arguments.root) unpack(operation, spanning, packed, parts, arguments, slices, slice);
  }
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<GatherArguments> between_nodes_gather_irregular;
const SpanningAlgorithm<GatherArguments> between_nodes_gather_irregular{
    "multi-object-sizes-tree",
    "2 ceil(log_{P+1} N)",
    "(N-1) P (n + 8) come to the root's node",
    "after PiP-MColl III.A.1, CMA-aware VII.G",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      return network::Cost{.rounds = 2 * rounds,
                           .messages = 2 * network::tree_messages(shape.nodes, shape.places),
                           .bytes = (shape.nodes - 1.0) * shape.places * (shape.bytes + sizeof(std::uint64_t)),
                           .inside_starts = 6,
                           .inside_bytes = (1 + shape.ranks()) * shape.bytes};
    },
    body};

}  // namespace tutti
