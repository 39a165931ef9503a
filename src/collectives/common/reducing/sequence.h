// In which order a reduction goes through the ranks: in the machine's, where the operator commutes, so that neighbours are
// near each other however they are numbered; else in that of their numbers, which the result depends on.
#pragma once

#include "collectives/arguments.h"
#include "engine/communicator.h"
#include "selection/model.h"

namespace tutti {

class Sequence {
 public:
  Sequence(Communicator& communicator, const Combiner& combiner)
      : order_(combiner.commutative ? &communicator.order() : nullptr) {}

  int place(int rank) const { return order_ ? order_->place(rank) : rank; }
  int rank(int place) const { return order_ ? order_->rank(place) : place; }

 private:
  const topology::MachineOrder* order_;  ///< null: that of the numbers
};

/// For costs: how far neighbours are from each other.
inline selection::Across across_neighbors(const selection::Shape& shape) {
  return shape.neighbors_are_near() ? selection::Across::levels : selection::Across::farthest;
}

}  // namespace tutti
