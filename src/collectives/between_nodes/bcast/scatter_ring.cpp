// Bcast between nodes, for large messages: scattered to the nodes, then gathered by all of them around a ring.
//
// Phase 1: a part of the message goes to each node, along the tree of the scatter; whoever receives it has it in its own
// buffer, from which all ranks of the node send it on, and copy the part of their node. Phase 2: the ring of the allgather,
// all ranks of a node at once, each from and to its own buffer; meanwhile they copy from each other what the others have
// received.
// Cost: alpha_e (ceil(log_{P+1} N) + N - 1) + 2 n (N - 1) / N beta_e; inside n / N bytes copied by each rank, and
// n (N - 1) / N (P - 1) / P overlapped with the ring.
// Requires: nothing. Van de Geijn's broadcast on the pieces of PiP-MColl, sections III.A.1 and III.B.1.

#include <vector>

#include "collectives/algorithm.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

/// The message in each rank's buffer, in parts of the nodes.
class Message final : public RingShares {
 public:
  Message(Operation& operation, const Crossing& crossing, const BcastArguments& arguments, bool is_root)
      : starts(starts_of_shares(crossing, arguments.bytes, cache_line_bytes)),
        operation_(operation),
        crossing_(crossing),
        arguments_(arguments),
        is_root_(is_root),
        held_(static_cast<std::size_t>(crossing.nodes.count()), is_root, crossing.memory()) {
    exposed_ = expose(operation, arguments.buffer, arguments.bytes, Side::source);
    if (is_root)
      post_filling(operation, exposed_, {}, arguments.buffer, arguments.bytes);
    else
      post(operation, exposed_, {});
  }

  const Starts starts;

  /// In this rank's buffer. The root's, which is the program's to read, is not written.
  std::byte* own(std::size_t at) const { return (is_root_ ? arguments_.buffer : exposed_.local) + at; }
  /// co_await message.filled(...): these bytes of another's are there.
  auto filled(int place, std::size_t at, std::size_t bytes) const {
    return operation_.filled(place, posted_source(operation_, place), at + bytes);
  }
  /// In that of another; null if messages cannot go from there.
  const std::byte* mapped(int place, std::size_t at, std::size_t bytes) const {
    const memory::Region theirs = posted_source(operation_, place);
    return memory::always_mapped(theirs.kind()) ? operation_.communicator().peer(place).pointer(theirs, at, bytes)
                                                : nullptr;
  }
  /// co_await operation.copied()
  void copy(int from_place, std::size_t at, std::size_t bytes) const {
    if (bytes > 0)
      operation_.peer(from_place)
          .copy_from(posted_source(operation_, from_place), at, exposed_.local + at, bytes, arguments_.store);
  }
  /// Where it belongs, if it is elsewhere.
  void collect() const {
    if (exposed_.copied && !is_root_ && arguments_.bytes > 0)
      copy_bytes(arguments_.buffer, exposed_.local, arguments_.bytes);
  }

  /// These parts are there: what the ring brings of them, because that is where it goes on, goes elsewhere, since they may be
  /// under way from here.
  void hold(topology::Range nodes) {
    for (std::size_t node = nodes.begin; node < nodes.end; ++node) held_[node] = true;
  }

  const std::byte* to_send(int part, int lane) override { return own(share(part, lane).begin); }
  std::byte* to_receive(int part, int lane) override {
    const topology::Range bytes = share(part, lane);
    if (!held_[static_cast<std::size_t>(part)]) return own(bytes.begin);
    const auto lanes_here = static_cast<std::size_t>(crossing_.lanes / crossing_.places + 1);
    const std::size_t most = whole_lines(arguments_.bytes / static_cast<std::size_t>(crossing_.lanes) + 1);
    return operation_.scratch(lanes_here * most) + static_cast<std::size_t>(lane / crossing_.places) * most;
  }
  void fetch(int place, int part) override {
    if (place == crossing_.place || held_[static_cast<std::size_t>(part)]) return;
    for (int lane = place; lane < crossing_.lanes; lane += crossing_.places) {
      const topology::Range bytes = share(part, lane);
      copy(place, bytes.begin, bytes.length());
    }
  }

 private:
  topology::Range share(int part, int lane) const {
    const topology::Range bytes = lane_share(bytes_at(starts, part), lane, crossing_.lanes);
    const std::size_t begin = starts[static_cast<std::size_t>(part)];
    return {begin + bytes.begin, begin + bytes.end};
  }

  Operation& operation_;
  const Crossing& crossing_;
  const BcastArguments& arguments_;
  const bool is_root_;
  std::pmr::vector<bool> held_;  ///< by part
  Exposure exposed_;
};

Task scatter(Operation& operation, RootedCrossing& crossing, Message& message) {
  const auto bytes = [&](topology::Range nodes) { return bytes_at(message.starts, nodes); };
  const bool has_it = crossing.place == crossing.owner;
  if (has_it && crossing.tree.parent) {
    crossing.receive_down(*crossing.tree.parent, 0, message.own(message.starts[crossing.tree.nodes.begin]),
                          bytes(crossing.tree.nodes));
    co_await crossing.received();
    message.hold(crossing.tree.nodes);
    crossing.announce(1);
  } else if (!has_it) {
    co_await operation.posted(crossing.owner);
    if (crossing.tree.parent) co_await crossing.announced(crossing.owner, 1);
  }
  for (const network::Branch& to : crossing.tree.children) {
    if (!crossing.serves(to.lane)) continue;
    const std::size_t begin = message.starts[to.nodes.begin];
    if (!has_it) co_await message.filled(crossing.owner, begin, bytes(to.nodes));
    const std::byte* from = has_it ? message.own(begin) : message.mapped(crossing.owner, begin, bytes(to.nodes));
    if (!from) {
      message.copy(crossing.owner, begin, bytes(to.nodes));
      co_await operation.copied();
      message.hold(to.nodes);
      from = message.own(begin);
    }
    crossing.send_down(to, 0, from, bytes(to.nodes));
  }
  if (!has_it)
    message.copy(crossing.owner, place_at(message.starts, crossing.node), bytes_at(message.starts, crossing.node));
  co_await operation.copied();
}

Task scatter_ring_body(Operation& operation, const BcastArguments& arguments) {
  RootedCrossing crossing(operation, arguments.root, RootedCrossing::Owner::receiver);
  Message message(operation, crossing, arguments, crossing.is_root);
  co_await scatter(operation, crossing, message);
  const int rounds = network::rounds_of(crossing.nodes.count(), crossing.lanes);
  co_await around_ring(operation, crossing, message, message.starts, {.first = rounds, .announced = 1, .fetched = 1});
  co_await leave_together(operation, crossing);
  message.collect();
}

}  // namespace

selection::Algorithm<BcastArguments> between_nodes_bcast_scatter_ring{
    "multi-object-scatter-ring",
    {"ceil(log_{P+1} N) + N-1", "2 n (N-1)/N, the root's", "van de Geijn's on PiP-MColl III.A.1 and III.B.1"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double rounds = network::rounds_of(shape.nodes, shape.places);
      const double steps = shape.nodes - 1.0;
      return selection::Cost{
          .hops = 3,
          .copied_bytes = bytes / shape.nodes,
          .beside = {.copied_bytes = bytes * steps / shape.nodes * (1 - 1.0 / shape.places)},
          .between = {.rounds = rounds + steps,
                      .messages = network::tree_messages(shape.nodes, shape.places) + steps * shape.places,
                      .bytes = 2 * bytes * steps / shape.nodes}};
    },
    {scatter_ring_body, crossing_flags}};

}  // namespace tutti
