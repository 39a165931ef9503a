// The receive buffer of an Allgather while it fills: peers read from it the blocks that have already arrived. Its flag
// is Slot::ready[0], in steps of the algorithm; every rank may fill in another order.
#pragma once

#include "collectives/arguments.h"
#include "collectives/common/buffers/blocks.h"

namespace tutti {

class Gathered {
 public:
  /// Exposes the receive buffer, posts it, puts this rank's own block into it and announces step 1.
  Gathered(Operation& operation, const AllgatherArguments& arguments);

  /// This rank has done `step`.
  void announce(std::uint64_t step) { operation_.publish(operation_.own().ready.flag[0], step); }
  /// co_await: `rank` has done `step`.
  auto reached(int rank, std::uint64_t step) { return operation_.has(operation_.slot(rank).ready.flag[0], step, rank); }
  /// Copies the blocks [first, last) from `peer`, which has announced them. Neighbouring ones go in one copy.
  void fetch(int peer, int first, int last);

  /// Whether this rank must wait until others have read from its buffer before it leaves.
  bool read_in_place() const { return !exposed_.exposure.in_the_ring; }
  /// Puts the blocks where the user wants them, if they arrived elsewhere.
  void collect();

 private:
  Operation& operation_;
  const AllgatherArguments& arguments_;
  ExposedBlocks exposed_;
};

}  // namespace tutti
