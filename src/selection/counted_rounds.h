// What algorithms would cost that know nothing of nodes: each rank sends for itself, and the messages of a node share its link.
// They are not carried out, only counted, for ranks that are numbered node by node.
#pragma once

#include <cstddef>
#include <vector>

#include "selection/model.h"

namespace tutti::selection {

/// Counts what leaves the busiest node, round by round.
class CountedRounds {
 public:
  CountedRounds(int nodes, int places)
      : places_(static_cast<std::size_t>(places)),
        nodes_(static_cast<std::size_t>(nodes)),
        ranks_(nodes_.size() * places_) {}

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// A message of this round. One that stays inside its node is copied there once.
  void send(int from, int to, double bytes);
  /// The same round comes so many times.
  void end_round(double times = 1);

  Cost cost;

 private:
  struct Traffic {
    double sent = 0, received = 0, messages = 0;
  };
  const std::size_t places_;
  std::vector<Traffic> nodes_;
  std::vector<double> ranks_;  ///< bytes that each copies from a rank of its node
};

/// Reductions by halves are between a power of two of ranks. Of the first ranks of the others, each even one gives its
/// elements to the odd one behind it, which gives it the result at the end.
class PowerOfTwo {
 public:
  PowerOfTwo(CountedRounds& rounds, double bytes);

  int count() const { return count_; }
  bool all() const { return beyond_ == 0; }
  void fold(bool back = false);
  /// A round in which each exchanges so much with the one at a distance.
  void exchange(int distance, double bytes);

 private:
  int rank_of(int i) const { return i < beyond_ ? 2 * i + 1 : i + beyond_; }

  CountedRounds& rounds_;
  const double bytes_;
  const int count_, beyond_;
};

/// All elements in each round, with twice as many ranks as in the one before: what MPIs do in Scan, and in Allreduce of few
/// elements.
Cost recursive_doubling(int nodes, int places, double bytes);

}  // namespace tutti::selection
