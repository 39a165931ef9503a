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
  std::byte* at(topology::Range nodes) const { return area + (*starts)[nodes.begin] - (*starts)[first]; }
  std::size_t bytes(int node) const { return bytes_at(*starts, node); }
  std::size_t bytes(topology::Range nodes) const { return bytes_at(*starts, nodes); }
};

/// Where the part of `node` lies in memory that begins with that of node `self` and goes around.
inline std::size_t turned(const Starts& starts, int node, int self) {
  const auto n = static_cast<std::size_t>(node), s = static_cast<std::size_t>(self);
  return n >= s ? starts[n] - starts[s] : starts.back() - starts[s] + starts[n];
}

/// visit(to, from, lane, step): of the messages from each node to each other one, those that this rank serves. They are
/// dealt out over the lanes by the distance of the nodes.
template <class Visit>
void for_each_partner(const Crossing& crossing, Visit visit) {
  const int nodes = crossing.nodes.count();
  for (int distance = 1; distance < nodes; ++distance) {
    const int lane = (distance - 1) % crossing.lanes;
    if (crossing.serves(lane))
      visit((crossing.node + distance) % nodes, (crossing.node - distance + nodes) % nodes, lane,
            (distance - 1) / crossing.lanes);
  }
}

/// The rounds of Bruck's algorithm with base lanes + 1 (PiP-MColl, section III.A.2): post(part, lane, round) posts the
/// messages of a lane. All ranks of the node call it together; it is over on all together.
template <class Post>
Task bruck_rounds(Operation&, Crossing& crossing, Post post) {
  const int nodes = crossing.nodes.count();
  const int rounds = network::rounds_of(nodes, crossing.lanes);
  for (int round = 0; round < rounds; ++round) {
    for (int lane = crossing.place; lane < crossing.lanes; lane += crossing.places) {
      const network::BruckLane part = network::bruck_lane(nodes, crossing.lanes, crossing.node, round, lane);
      if (part.count > 0) post(part, lane, round);
    }
    co_await crossing.over();
    co_await crossing.together();
  }
}

/// Every node's part to all nodes in these rounds: at the beginning of `area` there is the node's own part, at the end
/// all of them are there, turned().
Task gather_by_bruck(Operation& operation, Crossing& crossing, std::byte* area, const Starts& starts);

/// What a lane carries of a part.
inline topology::Range lane_share(std::size_t bytes, int lane, int lanes) {
  return topology::share_of({0, bytes}, static_cast<std::size_t>(lane), static_cast<std::size_t>(lanes), 1);
}

/// What goes around a ring of nodes, in parts that have a share for each lane. Each rank has what its lanes carry, and
/// copies the rest from the others of its node.
class RingShares {
 public:
  virtual ~RingShares() = default;
  /// Where the messages of a lane of this rank lie.
  virtual const std::byte* to_send(int part, int lane) = 0;
  virtual std::byte* to_receive(int part, int lane) = 0;
  /// That has come.
  virtual void received(int /*part*/, int /*lane*/) {}
  /// Copies what the rank at a place, perhaps this one, has announced of a part: co_await operation.copied().
  virtual void fetch(int place, int part) = 0;
};
struct RingSteps {
  int first = 0;      ///< the number of the first between nodes
  int announced = 0;  ///< steps that the ranks have announced before
  int fetched = 0;    ///< from which on parts are fetched: 1, if the own one is there
};
/// Every node's part to all nodes, around a ring (section III.B.1, steps 2, 3 and 5): in each step the ranks of a node
/// send the part that came last to the node behind, each the share of its lanes, and announce it; beside it they fetch
/// what the others have announced. Each has to have its lanes' shares of the own part before it comes here. starts: of
/// the parts.
Operation::Both around_ring(Operation& operation, Crossing& crossing, RingShares& shares, const Starts& starts,
                            RingSteps steps);

/// Parts from `root` to the nodes that they belong to, along the tree (section III.A.1): parts of the nodes below this
/// one. The root's are there; others are announced, as step `announced`, when they are. Posts what goes to other nodes
/// and does not wait until it is over.
Task scatter_along_tree(Operation& operation, RootedCrossing& crossing, NodeParts parts, int first_step,
                        int announced = 1);
/// The other way round, what this rank receives of it.
void receive_from_children(RootedCrossing& crossing, NodeParts parts, int first_step);
/// All of it: the node's own part is complete when all ranks of it call this; at the end, on all of them
/// together, all parts below it are there, and have been sent on.
Task gather_along_tree(Operation& operation, RootedCrossing& crossing, NodeParts parts, int first_step);

}  // namespace tutti
