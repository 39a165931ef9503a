// What algorithms between nodes are made of: tasks that move parts of memory that the ranks of a node share.
#pragma once

#include "base/copy.h"
#include "collectives/between_nodes/crossing.h"

namespace tutti {

/// Shared memory that has a part for each node, in their order; `first`: with which node it begins.
struct NodeParts {
  std::byte* area = nullptr;
  const Starts* starts = nullptr;
  std::size_t first = 0;

  std::byte* at(int node) const { return area + place_at(*starts, node, first); }
  std::size_t bytes(int node) const { return bytes_at(*starts, node); }
  std::size_t bytes(topology::Range nodes) const { return (*starts)[nodes.end] - (*starts)[nodes.begin]; }
};

/// Where the part of `node` lies in memory that begins with that of node `self` and goes around.
inline std::size_t turned(const Starts& starts, int node, int self) {
  const auto n = static_cast<std::size_t>(node), s = static_cast<std::size_t>(self);
  return n >= s ? starts[n] - starts[s] : starts.back() - starts[s] + starts[n];
}

/// Every node's part to all nodes, by Bruck's algorithm with base lanes + 1 (PiP-MColl, section III.A.2, steps 2 to 5):
/// at the beginning of `area` there is the node's own part, at the end all of them are there, turned(). All ranks of the
/// node call it, once the own part is complete; it is over on all together.
Task gather_by_bruck(Operation& operation, Crossing& crossing, std::byte* area, const Starts& starts, int first_step);

/// Which part came with a step of the ring, the first being step 1; 0: the own one.
inline int part_of_step(const Crossing& crossing, int step) {
  return ((crossing.node - step) % crossing.nodes.count() + crossing.nodes.count()) % crossing.nodes.count();
}

/// What a lane carries of a part.
inline topology::Range lane_share(std::size_t bytes, int lane, int lanes) {
  return topology::share_of({0, bytes}, static_cast<std::size_t>(lane), static_cast<std::size_t>(lanes), 1);
}

/// Where the messages of a ring lie, each of what a lane of this rank carries of a part.
class RingMessages {
 public:
  virtual ~RingMessages() = default;
  virtual const std::byte* to_send(int part, int lane) = 0;
  virtual std::byte* to_receive(int part, int lane) = 0;
  /// It has come.
  virtual void received(int /*part*/, int /*lane*/) {}
};
/// Every node's part to all nodes, around a ring (section III.B.1, steps 2, 3 and 5): in each step the ranks of a node send
/// the part that came last to the node behind, each the share of its lanes, and announce it. Ranks that wait for parts look
/// at that. announced_before: steps that the ranks have announced before. Each has to have the own part before it comes
/// here. starts: of the parts.
Task ring(Operation& operation, Crossing& crossing, RingMessages& messages, const Starts& starts, int first_step,
          int announced_before = 0);

/// What the ranks of a node have in buffers of their own, where a ring goes around: each has what its lanes carry, and
/// copies the rest from the others.
class RingShares : public RingMessages {
 public:
  /// Copies from the rank at a place what that has announced of a part: co_await operation.copied().
  virtual void fetch(int place, int part) = 0;
};
/// Beside it, from a step on: copies what the others have announced.
Task fetch_shares(Operation& operation, Crossing& crossing, RingShares& shares, int from_step,
                  int announced_before = 0);

/// Parts from `root` to the nodes that they belong to, along the tree (section III.A.1): parts of the nodes below this
/// one. The root's are there; others are announced, as step `announced`, when they are. Posts what goes to other nodes and does
/// not wait until it is over.
Task scatter_along_tree(Operation& operation, RootedCrossing& crossing, NodeParts parts, int first_step,
                        int announced = 1);
/// The other way round: the node's own part is complete when all ranks of it call this; at the end, on all of them
/// together, all parts below it are there, and have been sent on.
Task gather_along_tree(Operation& operation, RootedCrossing& crossing, NodeParts parts, int first_step);

/// Makes the memory that the node's ranks share (Crossing::more) ready for a slice: it is lent for the first, which is the longest,
/// and free again for each of those after it.
Task room_for_slice(Operation& operation, Crossing& crossing, int slice, std::size_t bytes);

}  // namespace tutti
