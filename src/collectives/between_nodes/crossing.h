// What a rank has of one operation between nodes: memory that the ranks of its node share, the messages that it has
// posted, and how it waits for either.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "engine/operation.h"
#include "engine/spanning.h"
#include "network/multi_object.h"
#include "topology/partition.h"

namespace tutti {

/// How often a rank has come to where those of its node await each other, ...
inline constexpr FlagName phases{Line::ready, 0};
/// ... and how many steps it has received.
inline constexpr FlagName steps_received{Line::ready, 1};
inline constexpr FlagSet crossing_flags = FlagSet::of(phases, steps_received, done_flag);

/// Private memory of the operation, for containers: given back when the operation ends, and there for the next one.
class OperationMemory final : public std::pmr::memory_resource {
 public:
  explicit OperationMemory(const Operation& operation) : operation_(operation) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override { return operation_.allocate(bytes); }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  const Operation& operation_;
};

class Crossing {
 public:
  /// The operation is one of a call on several nodes.
  explicit Crossing(Operation& operation);
  /// What is still posted, because the operation ends early, is withdrawn.
  ~Crossing();
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;

  /// Outlives what is made in it: mutable, as that of the operation is.
  std::pmr::memory_resource* memory() const { return &memory_; }

  const network::Nodes& nodes;
  const int self;    ///< this rank, of all nodes
  const int node;    ///< this rank's
  const int place;   ///< this rank's, there
  const int places;  ///< ranks of the node
  const int lanes;   ///< network/multi_object.h
  int owner = 0;     ///< the place on this node whose rank lends the shared memory

  /// Whether this rank carries what goes along the lane: lanes place, place + places, ...
  bool serves(int lane) const { return lane % places == place; }

  /// std::byte* area = co_await crossing.lend(bytes): memory of the owner that all ranks of the node may load and
  /// store. It lends it, the others wait for it. To be called by all of them, of as many bytes, and then leave() at the
  /// end.
  auto lend(std::size_t bytes) {
    if (place == owner) lend_first(bytes);
    return Lent{operation_.posted(owner), [this, bytes] { return lent(Side::source, bytes); }};
  }
  /// A second piece, of a size that is known only after something has come into the first.
  auto lend_more(std::size_t bytes) {
    if (place == owner) lend_second(bytes);
    return Lent{operation_.posted(owner, 1), [this, bytes] { return lent(Side::destination, bytes); }};
  }

  /// Messages with the rank that serves the lane on another node. The lane has to be served by this rank. Of no bytes
  /// there is no message, since both ends know how many they are.
  void send(int to_node, int lane, int step, const std::byte* data, std::size_t bytes) {
    if (bytes > 0) post_send(of_server(to_node, lane, step), data, bytes);
  }
  void receive(int from_node, int lane, int step, std::byte* data, std::size_t bytes) {
    if (bytes > 0) post_receive(of_server(from_node, lane, step), data, bytes);
  }
  /// The same with one rank of another node, at most one each way in a step.
  void send_to(int rank, int step, const std::byte* data, std::size_t bytes) {
    if (bytes > 0) post_send(address(rank, step, 0), data, bytes);
  }
  void receive_from(int rank, int step, std::byte* data, std::size_t bytes) {
    if (bytes > 0) post_receive(address(rank, step, 0), data, bytes);
  }
  /// The same without bytes, for what only has to be heard of.
  void signal(int to_node, int lane, int step) { post_send(of_server(to_node, lane, step), nullptr, 0); }
  void expect_signal(int from_node, int lane, int step) { post_receive(of_server(from_node, lane, step), nullptr, 0); }
  /// co_await crossing.received(): all that it has posted to receive has come.
  auto received() {
    return operation_.until(place, [this] { return all_over(receives_); });
  }
  /// co_await crossing.over(): all that it has posted is over.
  auto over() {
    return operation_.until(place, [this] { return all_over(receives_) && all_over(sends_); });
  }

  /// co_await crossing.together(): every rank of the node has come here, with all that it has stored before.
  auto together() {
    arrive();
    return operation_.until(place, [this, at = operation_.communicator().next_rank()]() mutable { return all_at(at); });
  }

  /// How many steps this rank has received, for ranks of its node that await it.
  void announce(int steps) { operation_.publish(steps_received, steps); }
  auto announced(int by_place, int steps) { return operation_.has(by_place, steps_received, steps); }

 private:
  /// Awaits the owner's post, and then says where the memory is.
  template <class Posted, class Where>
  struct [[nodiscard]] Lent : Posted {
    Lent(const Posted& posted, Where at) : Posted(posted), where(at) {}
    std::byte* await_resume() const {
      Posted::await_resume();
      return where();
    }
    Where where;
  };
  void lend_first(std::size_t bytes);
  void lend_second(std::size_t bytes);
  std::byte* lent(Side side, std::size_t bytes) const;

  network::Address address(int rank, int step, int lane) const;
  network::Address of_server(int other_node, int lane, int step) const {
    return address(nodes.rank_at(other_node, lane % nodes.places(other_node)), step, lane);
  }
  void post_send(const network::Address& to, const std::byte* data, std::size_t bytes);
  void post_receive(const network::Address& from, std::byte* data, std::size_t bytes);
  bool all_over(std::pmr::vector<network::Ticket>& tickets);
  void arrive();
  /// Whether all between this rank and `at` have arrived; moves `at` on.
  bool all_at(int& at) const;

  Operation& operation_;
  network::Channel& channel_;
  mutable OperationMemory memory_;
  std::pmr::vector<network::Ticket> sends_{&memory_}, receives_{&memory_};
  std::uint64_t phase_ = 0;
};

/// One with a root.
class RootedCrossing : public Crossing {
 public:
  /// Who owns the shared memory: on the root's node the root, on another one its first rank, or the one that hears from
  /// the parent in the tree.
  enum class Owner { first, receiver };
  RootedCrossing(Operation& operation, int root, Owner of_others = Owner::first);

  const bool is_root;             ///< this rank
  const bool at_root;             ///< this rank's node is the root's
  const network::TreePlace tree;  ///< this node's place

  // Messages along a branch, if this rank serves its lane: away from the root, in the steps from `first` on, ...
  void send_down(const network::Branch& to, int first, const std::byte* data, std::size_t bytes) {
    if (serves(to.lane)) send(to.node, to.lane, first + to.round, data, bytes);
  }
  void receive_down(const network::Branch& from, int first, std::byte* data, std::size_t bytes) {
    if (serves(from.lane)) receive(from.node, from.lane, first + from.round, data, bytes);
  }
  // ... and towards it.
  void send_up(const network::Branch& to, int first, const std::byte* data, std::size_t bytes) {
    if (serves(to.lane)) send(to.node, to.lane, first + step_up(to), data, bytes);
  }
  void receive_up(const network::Branch& from, int first, std::byte* data, std::size_t bytes) {
    if (serves(from.lane)) receive(from.node, from.lane, first + step_up(from), data, bytes);
  }

 private:
  int step_up(const network::Branch& branch) const {
    return network::rounds_of(nodes.count(), lanes) - 1 - branch.round;
  }
};

/// The end of an operation: nobody uses the shared memory any more.
Task leave(Operation& operation, Crossing& crossing);
/// The same where each rank has used memory of all the others.
Task leave_together(Operation& operation, Crossing& crossing);

/// Sizes of what belongs to each node, one after the other: node n has [starts[n], starts[n + 1]).
using Starts = std::pmr::vector<std::size_t>;
/// size(i): of each of so many parts that lie one behind the other.
template <class Size>
Starts starts_of(const Crossing& crossing, std::size_t parts, const Size& size) {
  Starts starts(crossing.memory());
  starts.reserve(parts + 1);
  starts.push_back(0);
  for (std::size_t i = 0; i < parts; ++i) starts.push_back(starts.back() + size(i));
  return starts;
}
/// The same of parts that belong to the nodes: size(node).
template <class Size>
Starts starts_of_nodes(const Crossing& crossing, const Size& size) {
  return starts_of(crossing, static_cast<std::size_t>(crossing.nodes.count()),
                   [&](std::size_t node) { return size(static_cast<int>(node)); });
}
/// The same of all elements, or bytes, in shares that are equal but for `grain`.
inline Starts starts_of_shares(const Crossing& crossing, std::size_t all, std::size_t grain) {
  const auto nodes = static_cast<std::size_t>(crossing.nodes.count());
  return starts_of(crossing, nodes, [&](std::size_t node) {
    return topology::share_of({0, all}, node, nodes, grain).length();
  });
}
inline std::size_t bytes_at(const Starts& starts, int node) {
  const auto n = static_cast<std::size_t>(node);
  return starts[n + 1] - starts[n];
}
inline std::size_t bytes_at(const Starts& starts, topology::Range nodes) {
  return starts[nodes.end] - starts[nodes.begin];
}
/// Where node n's part lies in memory that begins with that of node `first`.
inline std::size_t place_at(const Starts& starts, int node, std::size_t first = 0) {
  return starts[static_cast<std::size_t>(node)] - starts[first];
}

/// Rounded up so that what follows begins with a line of its own.
constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + sync::line_bytes - 1) / sync::line_bytes * sync::line_bytes;
}

}  // namespace tutti
