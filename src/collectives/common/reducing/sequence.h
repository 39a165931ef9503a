// In which order a reduction goes through the ranks, and which of them take part in its steps.
#pragma once

#include <bit>

#include "collectives/kinds.h"
#include "engine/communicator.h"
#include "selection/model.h"

namespace tutti {

/// The machine's order, where the operator commutes, so that neighbours are near each other however they are numbered;
/// else that of their numbers, which the result depends on.
class Sequence {
 public:
  Sequence(Communicator& communicator, const Combiner& combiner)
      : order_(combiner.commutative ? &communicator.order() : nullptr) {}

  int place(int rank) const { return order_ ? order_->place(rank) : rank; }
  int rank(int place) const { return order_ ? order_->rank(place) : place; }

 private:
  const topology::MachineOrder* order_;  ///< null: that of the numbers
};

/// Which ranks take part in steps that need a power of two, and who does so for the others. Of p ranks, 2^s is the
/// largest power of two and e are left. Of the first 2e ranks each odd one hands over to the even one before it. Those
/// that are left, in rank order, have the places 0 to 2^s - 1. Ranks may be places themselves, in an order that is not
/// that of their numbers.
struct Folded {
  int steps;  ///< s
  int extra;  ///< e

  explicit Folded(int ranks)
      : steps(static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1), extra(ranks - (1 << steps)) {}
  bool has_neighbor(int rank) const { return rank < 2 * extra; }
  bool hands_over(int rank) const { return has_neighbor(rank) && rank % 2 == 1; }
  bool takes_over(int rank) const { return has_neighbor(rank) && rank % 2 == 0; }
  int place_of(int rank) const { return has_neighbor(rank) ? rank / 2 : rank - extra; }
  int rank_at(int place) const { return place < extra ? 2 * place : place + extra; }
};

/// For costs: how far neighbours are from each other.
inline selection::Across across_neighbors(const selection::Shape& shape) {
  return shape.neighbors_are_near() ? selection::Across::levels : selection::Across::farthest;
}

}  // namespace tutti
