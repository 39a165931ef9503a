// The receive buffer of an Allgather while it fills: peers read from it the blocks that have already arrived. What it
// has is counted in steps of the algorithm; every rank may fill in another order. Ranks are spoken of by their places
// in the order of the machine (topology/machine_order.h). So who exchanges what with whom, and which boundaries that
// crosses, does not depend on how they are numbered; where the blocks of places belong follows from the order, which
// each rank knows.
#pragma once

#include "collectives/common/buffers/blocks.h"
#include "collectives/kinds.h"

namespace tutti {

/// Steps that a rank has done.
inline constexpr FlagName steps_done{Line::ready, 0};
inline constexpr FlagSet gathered_flags = FlagSet::of(steps_done);

class Gathered {
 public:
  /// Exposes the receive buffer, posts it, puts this rank's own block into it and announces step 1.
  Gathered(Operation& operation, const AllgatherArguments& arguments);

  /// This rank has done `step`.
  void announce(int step) { operation_.publish(steps_done, step); }
  /// Of this rank.
  int place() const { return order_.place(operation_.communicator().rank()); }
  /// co_await: the rank at `place` has done `step`.
  auto reached(int place, int step) { return operation_.has(order_.rank(place), steps_done, step); }
  /// Copies the blocks of the places [first, last) from the rank at `place`, which has announced them. Those that are
  /// neighbours by rank as well are one piece. They are there after co_await operation.copied().
  void fetch(int place, int first, int last);

  /// Whether this rank must wait until others have read from its buffer before it leaves.
  bool read_in_place() const { return !exposed_.exposure.in_the_ring; }
  /// Puts the blocks where the user wants them, if they arrived elsewhere.
  void collect();

 private:
  Operation& operation_;
  const AllgatherArguments& arguments_;
  const topology::MachineOrder& order_;
  ExposedBlocks exposed_;
};

}  // namespace tutti
