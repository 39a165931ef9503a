#include "collectives/between_nodes/tree_blocks.h"

#include <cstring>

#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/between_nodes/root_blocks.h"

namespace tutti {

namespace {

/// What goes along the tree: the blocks of the nodes below this one, long ones of which only the root knew the sizes in slices.
struct TreeBlocks {
  /// bytes: of each block. list: null, or the sizes of `count` blocks, as they came along the tree.
  TreeBlocks(const Operation& operation, const RootedCrossing& crossing, std::size_t bytes, const std::uint64_t* list,
             std::size_t count)
      : packed(list ? Packed(crossing, crossing.tree.nodes, list) : Packed(crossing, bytes)),
        slices(list ? Slices(operation, list, count, static_cast<std::size_t>(crossing.nodes.ranks())) : Slices()),
        rounds(network::rounds_of(crossing.nodes.count(), crossing.lanes)),
        before(list ? 1 : 0) {}

  Packed packed;
  const Slices slices;
  const int rounds;
  const int before;  ///< times that the tree was used before

  int first_step(int slice) const { return rounds * (before + slice); }
  void take(int slice) { packed.take(slices.begin(slice), slices.bytes()); }
};

Task scatter_at_root(Operation& operation, RootedCrossing& crossing, const ScatterArguments& arguments, Sizes sizes) {
  if (!crossing.is_root) co_await operation.posted(crossing.owner);
  RootBlocks blocks(operation, crossing, arguments.send, Side::source, arguments.receive ? -1 : arguments.root);
  co_await blocks.filled();
  const auto ranks = static_cast<std::size_t>(crossing.nodes.ranks());
  const std::size_t list_bytes = sizes == Sizes::sent ? ranks * sizeof(std::uint64_t) : 0;
  std::uint64_t* const list = sizes == Sizes::sent ? operation.array<std::uint64_t>(ranks) : nullptr;
  if (list) {
    std::uint64_t* next = list;
    for (int node = 0; node < crossing.nodes.count(); ++node)
      for (const int rank : crossing.nodes.ranks_of(node)) *next++ = blocks.size(rank);
  }
  TreeBlocks sent(operation, crossing, arguments.bytes, list, ranks);
  if (list) {
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

Task gather_at_root(Operation& operation, RootedCrossing& crossing, const GatherArguments& arguments, Sizes sizes) {
  if (!crossing.is_root) co_await operation.posted(crossing.owner);
  RootBlocks blocks(operation, crossing, arguments.receive, Side::destination, arguments.send ? -1 : arguments.root);
  const auto ranks = static_cast<std::size_t>(crossing.nodes.ranks());
  // 0 for all but those of the branches that this rank serves.
  std::uint64_t* const list = sizes == Sizes::sent ? operation.array<std::uint64_t>(ranks) : nullptr;
  if (list) {
    const Packed listed(crossing, sizeof(std::uint64_t));
    receive_from_children(crossing, {reinterpret_cast<std::byte*>(list), &listed.starts, 0}, 0);
    co_await crossing.received();
  }
  TreeBlocks come(operation, crossing, arguments.bytes, list, ranks);
  for (int slice = 0; slice < come.slices.count(); ++slice) {
    come.take(slice);
    blocks.receive(come.packed, come.slices.begin(slice), come.first_step(slice));
    if (slice == 0 && arguments.send) blocks.copy_own_from(arguments.send, arguments.bytes);
    co_await crossing.received();
    blocks.unpack(come.packed, come.slices.begin(slice));
    co_await operation.copied();
  }
  if (list) blocks.say_lengths(Packed(crossing, crossing.tree.nodes, list));
  co_await leave(operation, crossing);
  if (crossing.is_root) blocks.collect();
}

enum class Way { down, up };

Task along_tree(Operation& operation, RootedCrossing& crossing, Way way, const NodeParts& parts, int first_step,
                int announced) {
  return way == Way::down ? scatter_along_tree(operation, crossing, parts, first_step, announced)
                          : gather_along_tree(operation, crossing, parts, first_step);
}

/// On the other nodes: what they have goes up the tree, or comes down. own: this rank's block.
Task elsewhere(Operation& operation, RootedCrossing& crossing, Way way, Block own, Sizes sizes) {
  const topology::Range nodes = crossing.tree.nodes;
  const Packed listed(crossing, sizeof(std::uint64_t));
  NodeParts lists{nullptr, &listed.starts, nodes.begin};
  if (sizes == Sizes::sent) {
    lists.area = co_await crossing.lend(lists.bytes(nodes));
    if (way == Way::up) reinterpret_cast<std::uint64_t*>(lists.at(crossing.node))[crossing.place] = own.bytes;
    co_await along_tree(operation, crossing, way, lists, 0, 1);
  }
  TreeBlocks blocks(operation, crossing, own.bytes, reinterpret_cast<const std::uint64_t*>(lists.area),
                    lists.bytes(nodes) / sizeof(std::uint64_t));
  std::byte* room = own.at;
  for (int slice = 0; slice < blocks.slices.count(); ++slice) {
    blocks.take(slice);
    NodeParts parts{nullptr, &blocks.packed.starts, nodes.begin};
    const std::size_t all = parts.bytes(nodes);
    // A node's only rank sends its block from where it is, and receives it where it belongs.
    const bool alone = sizes == Sizes::known && all == own.bytes;
    if (slice > 0) {
      // The memory was lent for the first slice, which is the longest. It is free again.
      co_await crossing.over();
      co_await crossing.together();
    } else if (sizes == Sizes::sent) {
      room = co_await crossing.lend_more(all);
    } else if (!alone) {
      room = co_await crossing.lend(all);
    }
    parts.area = room;
    std::byte* const packed = parts.at(crossing.node) + blocks.packed.in_node(crossing.self);
    std::byte* const mine = own.at + blocks.slices.begin(slice);
    const std::size_t fits =
        operation.fitting(blocks.packed.size(crossing.self), blocks.slices.bytes(slice, own.bytes));
    const std::size_t bytes = alone ? 0 : fits;
    if (way == Way::up && bytes > 0) copy_bytes(packed, mine, bytes);
    co_await along_tree(operation, crossing, way, parts, blocks.first_step(slice), blocks.before + slice + 1);
    if (way == Way::down && bytes > 0) copy_bytes(mine, packed, bytes);
  }
}

}  // namespace

Task scatter_blocks(Operation& operation, const ScatterArguments& arguments, Sizes sizes) {
  RootedCrossing crossing(operation, arguments.root);
  if (crossing.at_root)
    co_await scatter_at_root(operation, crossing, arguments, sizes);
  else
    co_await elsewhere(operation, crossing, Way::down, arguments.own(), sizes);
  co_await leave(operation, crossing);
}

Task gather_blocks(Operation& operation, const GatherArguments& arguments, Sizes sizes) {
  RootedCrossing crossing(operation, arguments.root);
  if (crossing.at_root) {
    co_await gather_at_root(operation, crossing, arguments, sizes);
  } else {
    co_await elsewhere(operation, crossing, Way::up, arguments.own(), sizes);
    co_await leave(operation, crossing);
  }
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
