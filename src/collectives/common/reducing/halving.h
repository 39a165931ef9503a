// Reduce-scatter by recursive halving, in place: the first part of Reduce and Allreduce of large messages.
//
// Of p ranks, 2^s is the largest power of two and e are left. Of the first 2e ranks each even one first combines what the
// next one has with its own. Step i = 0 to s - 1, among the other 2^s: of the range that it has a partial result of,
// each takes the half that bit i of its place names, and combines there what the one at place v xor 2^i has with its own.
// So neighbours exchange the long parts and those far away the short ones. Ranks are counted in the machine's order where
// the operator commutes (sequence.h); else by their numbers, and partial results are of consecutive ranks and are
// combined in rank order.
#pragma once

#include "collectives/common/reducing/sequence.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

/// How often a rank has combined something.
inline constexpr FlagName combined_so_often{Line::reduced, 0};
inline constexpr FlagSet halving_flags = FlagSet::of(combined_so_often, done_flag);

/// One rank's part in it. Its contribution is what `buffers` has as source, its partial results are made at the
/// destination; both are in its post. Ranks that hand over have no part.
class Halving {
 public:
  Halving(Operation& operation, const ReductionBuffers& buffers);

  const Folded& folded() const { return folded_; }
  const Sequence& sequence() const { return sequence_; }
  /// Who has the other half in this step.
  int partner(int step) const { return sequence_.rank(folded_.rank_at(place_ ^ (1 << step))); }
  bool partner_is_before(int step) const { return (place_ >> step & 1) != 0; }
  /// The elements of which this rank has a partial result before the step; before that after the last one, the result.
  topology::Range range(int step) const { return range_of(place_, step); }
  /// Those that its partner has after the step.
  topology::Range partners(int step) const { return range_of(place_ ^ (1 << step), step + 1); }

  const ReductionBuffers& buffers() const { return buffers_; }

 private:
  topology::Range range_of(int place, int step) const;

  const ReductionBuffers& buffers_;
  Sequence sequence_;
  Folded folded_;
  int place_;
};

/// Waits, and combines, until this rank has the result for halving.range(halving.folded().steps).
Task reduce_by_halving(Operation& operation, const Halving& halving);
/// Nobody reads this rank's buffers any more: to be awaited after all of its own work, which it announces.
Task leave_halving(Operation& operation, const Halving& halving);

}  // namespace tutti
