// Who exchanges with whom, in which round, where all ranks of a node send and receive at once: the arithmetic of
// multi-object algorithms (PiP-MColl, section III), for any number of nodes.
//
// Nodes exchange along *lanes*, of which a communicator has as many as its largest node has ranks. The rank at place l of
// a node serves lane l; on a node with fewer ranks it serves the lanes l + places, l + 2 places, ... as well. With
// `lanes` lanes a round reaches lanes + 1 times as many nodes as the round before: the paper's base P + 1.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <vector>

#include "topology/partition.h"

namespace tutti::network {

/// Rounds until all have heard of all: the logarithm of `nodes` to the base lanes + 1, rounded up.
int rounds_of(int nodes, int lanes);

/// Nodes [begin, end) as they are divided in the round that their parts have in common: in as few parts as leave one
/// round less for each, at most lanes + 1, whose lengths differ by at most 1.
class Division {
 public:
  Division(topology::Range nodes, int lanes);
  int parts() const { return parts_; }
  topology::Range part(int index) const {
    return topology::share_of(nodes_, static_cast<std::size_t>(index), static_cast<std::size_t>(parts_), 1);
  }
  int part_of(int node) const;
  /// On which of its lanes a node of part `of` meets one of part `other`: 0 to parts() - 2.
  int lane(int of, int other) const { return (other - of + parts_) % parts_ - 1; }

 private:
  topology::Range nodes_;
  int parts_ = 1;
};

/// A tree over all nodes, whose edges are crossed from the root to the leaves (Bcast, Scatter) or the other way round
/// (Reduce, Gather). In each round who has a range of nodes divides it, keeps the part with itself, and gives each of the
/// others to a node there: the root if it was in it, else the first. So ranges stay in the order of nodes.
struct Branch {
  int round = 0;               ///< counted from the root
  int lane = 0;                ///< on both sides
  int node = 0;                ///< the other side
  topology::Range nodes = {};  ///< below the branch
};
struct TreePlace {
  std::optional<Branch> parent;       ///< none: it is the root
  std::pmr::vector<Branch> children;  ///< by rounds, in the order of nodes
  topology::Range nodes = {};         ///< below this node, itself included
};
TreePlace tree_place(int nodes, int lanes, int root, int self,
                     std::pmr::memory_resource* memory = std::pmr::get_default_resource());

/// An exchange after which each node has what all had, combined in the order of nodes in the same way everywhere: in each
/// round the nodes of each part of a range get what the other parts of that range have combined by then.
struct ExchangeRound {
  struct End {
    int lane = 0;
    int node = 0;
    int part = 0;  ///< of the division, where it is from or goes to
  };
  int parts = 1;
  int own_part = 0;
  std::pmr::vector<End> sends, receives;  ///< one receive from each of the other parts
};
std::pmr::vector<ExchangeRound> exchange_rounds(int nodes, int lanes, int self,
                                                std::pmr::memory_resource* memory = std::pmr::get_default_resource());

/// One lane in a round of Bruck's algorithm with base lanes + 1: the node gets what `from` and its next `count - 1` nodes
/// had, which become those at distance `at` from the node itself; `to` gets as much of what this node has, from itself on.
struct BruckLane {
  int from = 0, to = 0;
  int at = 0, count = 0;  ///< nodes; count 0: the lane has nothing to do
};
/// round: of rounds_of(nodes, lanes).
BruckLane bruck_lane(int nodes, int lanes, int self, int round, int lane);

/// Messages that leave a node, for costs: in Bruck's algorithm, from the tree's root, in the exchange (of the first node).
double bruck_messages(int nodes, int lanes);
double tree_messages(int nodes, int lanes);
double exchange_messages(int nodes, int lanes);

}  // namespace tutti::network
