#include "collectives/between_nodes/tree_blocks.h"

#include <cstring>

#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/root_blocks.h"
#include "collectives/between_nodes/slices.h"

namespace tutti {

namespace {

/// What goes along the tree: the blocks of the nodes below this one, long ones of which only the root knew the sizes in slices.
struct TreeBlocks {
  TreeBlocks(const Crossing& crossing, std::size_t bytes)
      : packed(crossing, bytes), rounds(network::rounds_of(crossing.nodes.count(), crossing.lanes)) {}
  /// list: the sizes of `count` blocks, as they came along the tree.
  TreeBlocks(const Operation& operation, const RootedCrossing& crossing, const std::uint64_t* list, std::size_t count)
      : packed(crossing, crossing.tree.nodes, list),
        slices(operation, list, count, static_cast<std::size_t>(crossing.nodes.ranks())),
        rounds(network::rounds_of(crossing.nodes.count(), crossing.lanes)),
        before(1) {}

  Packed packed;
  const Slices slices = {};
  const int rounds;
  const int before = 0;  ///< times that the tree was used before

  int first_step(int slice) const { return rounds * (before + slice); }
  void take(int slice) { packed.take(slices.begin(slice), slices.bytes()); }
};

/// Shared memory for a slice: it is lent for the first, which is the longest, and free again for each of those after it.
/// is_more: something else was lent before.
Task room_for_slice(Operation&, Crossing& crossing, int slice, bool is_more, std::size_t bytes, std::byte*& room) {
  if (slice > 0) {
    co_await crossing.over();
    co_await crossing.together();
  } else if (is_more) {
    crossing.lend_more(bytes);
    co_await crossing.lent_more();
    room = crossing.more();
  } else {
    crossing.lend(bytes);
    co_await crossing.lent();
    room = crossing.area();
  }
}

Task scatter_at_root(Operation& operation, RootedCrossing& crossing, const ScatterArguments& arguments, Sizes sizes) {
  if (!crossing.is_root) co_await crossing.lent();
  RootBlocks blocks(operation, crossing, arguments.send, Side::source, arguments.receive ? -1 : arguments.root);
  co_await blocks.filled();
  const std::size_t ranks = sizes == Sizes::sent ? static_cast<std::size_t>(crossing.nodes.ranks()) : 0;
  const std::size_t list_bytes = ranks * sizeof(std::uint64_t);
  auto* const list = operation.array<std::uint64_t>(ranks);
  if (sizes == Sizes::sent) {
    std::uint64_t* next = list;
    for (int node = 0; node < crossing.nodes.count(); ++node)
      for (const int rank : crossing.nodes.ranks_of(node)) *next++ = blocks.size(rank);
  }
  TreeBlocks sent =
      sizes == Sizes::sent ? TreeBlocks(operation, crossing, list, ranks) : TreeBlocks(crossing, arguments.bytes);
  if (sizes == Sizes::sent) {
    // The first slice is the longest.
    sent.take(0);
    const Packed listed(crossing, sizeof(std::uint64_t));
    const NodeParts lists{operation.scratch(list_bytes + blocks.bytes_to_copy(sent.packed, 0)), &listed.starts, 0};
    std::memcpy(lists.area, list, list_bytes);
    co_await scatter_along_tree(operation, crossing, lists, 0);
  }
  for (int slice = 0; slice < sent.slices.count(); ++slice) {
    if (slice > 0) co_await crossing.over();
    sent.take(slice);
    blocks.make_messages(sent.packed, sent.slices.begin(slice), list_bytes);
    co_await operation.copied();
    blocks.send(sent.first_step(slice));
  }
  if (arguments.receive)
    blocks.copy_own_to(arguments.receive, operation.fitting(blocks.size(crossing.self), arguments.bytes));
  co_await operation.copied();
}

Task scatter_elsewhere(Operation& operation, RootedCrossing& crossing, const ScatterArguments& arguments, Sizes sizes) {
  const topology::Range nodes = crossing.tree.nodes;
  const Packed listed(crossing, sizeof(std::uint64_t));
  NodeParts lists{nullptr, &listed.starts, nodes.begin};
  if (sizes == Sizes::sent) {
    crossing.lend(lists.bytes(nodes));
    co_await crossing.lent();
    lists.area = crossing.area();
    co_await scatter_along_tree(operation, crossing, lists, 0);
  }
  const auto* const list = reinterpret_cast<const std::uint64_t*>(lists.area);
  TreeBlocks come = sizes == Sizes::sent ? TreeBlocks(operation, crossing, list, lists.bytes(nodes) / sizeof *list)
                                         : TreeBlocks(crossing, arguments.bytes);
  std::byte* room = arguments.receive;
  for (int slice = 0; slice < come.slices.count(); ++slice) {
    come.take(slice);
    NodeParts parts{nullptr, &come.packed.starts, nodes.begin};
    const std::size_t all = parts.bytes(nodes);
    // A node's only rank receives its block where it belongs.
    const bool alone = sizes == Sizes::known && all == arguments.bytes;
    if (!alone) co_await room_for_slice(operation, crossing, slice, sizes == Sizes::sent, all, room);
    parts.area = room;
    co_await scatter_along_tree(operation, crossing, parts, come.first_step(slice), come.before + slice + 1);
    const std::size_t bytes =
        operation.fitting(come.packed.size(crossing.self), come.slices.bytes(slice, arguments.bytes));
    if (!alone && bytes > 0)
      copy_bytes(arguments.receive + come.slices.begin(slice),
                 parts.at(crossing.node) + come.packed.in_node(crossing.self), bytes);
  }
}

Task gather_at_root(Operation& operation, RootedCrossing& crossing, const GatherArguments& arguments, Sizes sizes) {
  if (!crossing.is_root) co_await crossing.lent();
  RootBlocks blocks(operation, crossing, arguments.receive, Side::destination, arguments.send ? -1 : arguments.root);
  const std::size_t ranks = sizes == Sizes::sent ? static_cast<std::size_t>(crossing.nodes.ranks()) : 0;
  // 0 for all but those of the branches that this rank serves.
  auto* const list = operation.array<std::uint64_t>(ranks);
  if (sizes == Sizes::sent) {
    const Packed listed(crossing, sizeof(std::uint64_t));
    receive_from_children(crossing, {reinterpret_cast<std::byte*>(list), &listed.starts, 0}, 0);
    co_await crossing.received();
  }
  TreeBlocks come =
      sizes == Sizes::sent ? TreeBlocks(operation, crossing, list, ranks) : TreeBlocks(crossing, arguments.bytes);
  for (int slice = 0; slice < come.slices.count(); ++slice) {
    come.take(slice);
    blocks.receive(come.packed, come.slices.begin(slice), come.first_step(slice));
    if (slice == 0 && arguments.send) blocks.copy_own_from(arguments.send, arguments.bytes);
    co_await crossing.received();
    blocks.unpack(come.packed, come.slices.begin(slice));
    co_await operation.copied();
  }
  if (sizes == Sizes::sent) blocks.say_lengths(Packed(crossing, crossing.tree.nodes, list));
  co_await leave(operation, crossing);
  if (crossing.is_root) blocks.collect();
}

Task gather_elsewhere(Operation& operation, RootedCrossing& crossing, const GatherArguments& arguments, Sizes sizes) {
  const topology::Range nodes = crossing.tree.nodes;
  const Packed listed(crossing, sizeof(std::uint64_t));
  NodeParts lists{nullptr, &listed.starts, nodes.begin};
  if (sizes == Sizes::sent) {
    crossing.lend(lists.bytes(nodes));
    co_await crossing.lent();
    lists.area = crossing.area();
    reinterpret_cast<std::uint64_t*>(lists.at(crossing.node))[crossing.place] = arguments.bytes;
    co_await gather_along_tree(operation, crossing, lists, 0);
  }
  const auto* const list = reinterpret_cast<const std::uint64_t*>(lists.area);
  TreeBlocks sent = sizes == Sizes::sent ? TreeBlocks(operation, crossing, list, lists.bytes(nodes) / sizeof *list)
                                         : TreeBlocks(crossing, arguments.bytes);
  std::byte* room = const_cast<std::byte*>(arguments.send);
  for (int slice = 0; slice < sent.slices.count(); ++slice) {
    sent.take(slice);
    NodeParts parts{nullptr, &sent.packed.starts, nodes.begin};
    const std::size_t all = parts.bytes(nodes);
    // A node's only rank sends its block from where it is.
    const bool alone = sizes == Sizes::known && all <= arguments.bytes;
    if (!alone) co_await room_for_slice(operation, crossing, slice, sizes == Sizes::sent, all, room);
    parts.area = room;
    const std::size_t bytes = sent.slices.bytes(slice, arguments.bytes);
    if (!alone && bytes > 0)
      copy_bytes(parts.at(crossing.node) + sent.packed.in_node(crossing.self),
                 arguments.send + sent.slices.begin(slice), bytes);
    co_await gather_along_tree(operation, crossing, parts, sent.first_step(slice));
  }
  co_await leave(operation, crossing);
}

}  // namespace

Task scatter_blocks(Operation& operation, const ScatterArguments& arguments, Sizes sizes) {
  RootedCrossing crossing(operation, arguments.root);
  if (crossing.at_root)
    co_await scatter_at_root(operation, crossing, arguments, sizes);
  else
    co_await scatter_elsewhere(operation, crossing, arguments, sizes);
  co_await leave(operation, crossing);
}

Task gather_blocks(Operation& operation, const GatherArguments& arguments, Sizes sizes) {
  RootedCrossing crossing(operation, arguments.root);
  if (crossing.at_root)
    co_await gather_at_root(operation, crossing, arguments, sizes);
  else
    co_await gather_elsewhere(operation, crossing, arguments, sizes);
}

network::Cost cost_of_tree_blocks(const selection::Shape& shape, Sizes sizes) {
  const double times = sizes == Sizes::sent ? 2 : 1, size_bytes = sizes == Sizes::sent ? sizeof(std::uint64_t) : 0;
  return {.rounds = times * network::rounds_of(shape.nodes, shape.places),
          .messages = times * network::tree_messages(shape.nodes, shape.places),
          .bytes = (shape.nodes - 1.0) * shape.places * (shape.class_bytes() + size_bytes)};
}

double copied_of_tree_blocks(const selection::Shape& shape) {
  return shape.class_bytes() * (1 + (shape.runs > 1 ? shape.nodes : 0));
}

}  // namespace tutti
