// Bcast between nodes: a tree with base P + 1, all ranks of a node at once.
//
// Phase 1: on each node one rank has the message in its buffer: the root, elsewhere the one that receives it there. Phase 2,
// round by round: each lane of a node that has the message sends it to one more node, straight from that buffer; where it is
// not mapped, from its own after phase 3. Phase 3, while that is sent: each other rank copies it to its own buffer.
// Cost: alpha_e ceil(log_{P+1} N), and of the node that sends most, n bytes a branch; inside alpha_r + n beta_r.
// Requires: nothing. In the spirit of PiP-MColl, sections III.A.1 and III.C.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

void send(RootedCrossing& crossing, const std::byte* message, std::size_t bytes) {
  for (const network::Branch& to : crossing.tree.children) crossing.send_down(to, 0, message, bytes);
}

/// On the rank that has the message.
Task hand_out(Operation& operation, RootedCrossing& crossing, const BcastArguments& arguments) {
  Exposure exposure = expose(operation, arguments.buffer, arguments.bytes, Side::source);
  if (crossing.tree.parent) {
    post(operation, exposure, {});
    crossing.receive_down(*crossing.tree.parent, 0, exposure.local, arguments.bytes);
    co_await crossing.received();
    crossing.announce(1);
  } else {
    post_filling(operation, exposure, {}, arguments.buffer, arguments.bytes);
  }
  send(crossing, crossing.tree.parent ? exposure.local : arguments.buffer, arguments.bytes);
  if (crossing.tree.parent && exposure.copied && arguments.bytes > 0)
    copy_bytes(arguments.buffer, exposure.local, arguments.bytes);
}

/// On the other ranks of its node.
Task take(Operation& operation, RootedCrossing& crossing, const BcastArguments& arguments) {
  co_await operation.posted(crossing.owner);
  if (crossing.tree.parent) co_await crossing.announced(crossing.owner, 1);
  const memory::Region theirs = posted_source(operation, crossing.owner);
  const memory::PeerTransfers owner = operation.peer(crossing.owner);
  const bool sends = std::any_of(crossing.tree.children.begin(), crossing.tree.children.end(),
                                 [&](const network::Branch& to) { return crossing.serves(to.lane); });
  const std::byte* mapped = nullptr;
  if (sends && memory::always_mapped(theirs.kind())) {
    co_await operation.filled(crossing.owner, theirs, arguments.bytes);
    mapped = owner.peer.pointer(theirs, 0, arguments.bytes);
  }
  if (mapped) send(crossing, mapped, arguments.bytes);
  if (arguments.bytes > 0) owner.copy_from(theirs, 0, arguments.buffer, arguments.bytes, arguments.store);
  co_await operation.copied();
  if (!mapped) send(crossing, arguments.buffer, arguments.bytes);
}

Task tree_body(Operation& operation, const BcastArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root, RootedCrossing::Owner::receiver);
  if (crossing.place == crossing.owner)
    co_await hand_out(operation, crossing, arguments);
  else
    co_await take(operation, crossing, arguments);
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<BcastArguments> between_nodes_bcast_tree{
    "multi-object-tree",
    {"ceil(log_{P+1} N)", "n a branch, at most P ceil(log_{P+1} N)", "after PiP-MColl III.A.1 and III.C"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double messages = network::tree_messages(shape.nodes, shape.places);
      return selection::Cost{.hops = 2 + rounds,
                             .copied_bytes = shape.places > 1 ? bytes : 0,
                             .between = {.rounds = rounds, .messages = messages, .bytes = messages * bytes}};
    },
    {tree_body, crossing_flags}};

}  // namespace tutti
