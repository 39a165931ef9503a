// Which ranks of a communicator sit on which node. Nodes may have different numbers of ranks, one included, and ranks
// may be dealt out over them in any order. Pure, and the same on all ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::network {

class Nodes {
 public:
  /// node_of_rank: of each rank a number that is its node's. Nodes are numbered anew, by their lowest ranks.
  explicit Nodes(std::span<const int> node_of_rank);

  int count() const { return static_cast<int>(ranks_of_.size()); }
  int ranks() const { return static_cast<int>(node_of_.size()); }
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  /// The rank's place on its node: 0, 1, ... in the order of ranks. Place 0 is the leader.
  int place_of(int rank) const { return place_of_[static_cast<std::size_t>(rank)]; }
  /// The ranks of a node, by place.
  std::span<const int> ranks_of(int node) const { return ranks_of_[static_cast<std::size_t>(node)]; }
  int places(int node) const { return static_cast<int>(ranks_of(node).size()); }
  int rank_at(int node, int place) const { return ranks_of(node)[static_cast<std::size_t>(place)]; }
  /// Ranks of the node that has most of them.
  int most_places() const { return most_places_; }
  /// The ranks of each node follow each other, so that what is in the order of nodes is in the order of ranks.
  bool in_order() const { return runs_.size() == ranks_of_.size(); }

  /// Ranks of one node that follow each other, as many as there are.
  struct Run {
    int node = 0;
    int first = 0;  ///< rank
    int count = 0;
  };
  /// In the order of ranks.
  std::span<const Run> runs() const { return runs_; }
  int runs_of(int node) const { return runs_of_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<int> node_of_, place_of_;
  std::vector<std::vector<int>> ranks_of_;
  std::vector<Run> runs_;
  std::vector<int> runs_of_;
  int most_places_ = 0;
};

}  // namespace tutti::network
