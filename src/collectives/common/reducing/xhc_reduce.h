// The reduction of XHC (section IV.B, steps 1 and 2), which Reduce and Allreduce share.
//
// Every group of the hierarchy reduces into its leader's buffer: the members that are not its leader divide the indices
// of each chunk among themselves, and each reduces its part of all members' data, in the order of their ranks: what a
// member brings is its contribution, or what the groups that it leads further in have put together. Where the operator
// does not commute, groups are of consecutive ranks (Grouping::in_rank_order), so that this is the order of all ranks:
// what follows one another within a domain of the machine is combined there, and only that goes on. In the topmost group
// the leader works too. A leader passes a chunk on to the next level as soon as its group has finished it.
#pragma once

#include "collectives/common/reducing/share.h"
#include "collectives/kinds.h"
#include "selection/model.h"

namespace tutti {

/// By level of the hierarchy: grains of a rank's data that the group of that level may read, ...
inline constexpr FlagRow ready_for_level{Line::ready, 0, 14};
/// ... and grains in which it has finished its part for the group of that level.
inline constexpr FlagRow reduced_for_level{Line::reduced, 0, 14};
static_assert(topology::most_levels <= ready_for_level.count() && topology::most_levels <= reduced_for_level.count());
/// Which level is the first in which a rank takes part.
inline constexpr FlagName first_level_of{Line::ready, 15};
inline constexpr FlagSet xhc_flags = FlagSet::of(ready_for_level, reduced_for_level, first_level_of);

struct XhcReduction {
  ReductionBuffers buffers;
  const topology::RankPlan* plan = nullptr;
  std::size_t bytes = 0;
};

/// Exposes this rank's buffers and posts them. A leader that gets no result still needs memory to reduce into.
XhcReduction xhc_expose(Operation& operation, const Reduction& of, bool wants_result, int root);

/// This rank's part. On the root, `progress`, if given, says how many grains of the result are final.
Task xhc_reduce(Operation& operation, const XhcReduction& reduction, const FlagName* progress);

/// Waits until the group in which this rank is a mere member has read all of its data.
Task xhc_wait_until_read(Operation& operation, const XhcReduction& reduction);

/// Who has the result at the end: the root (Reduce), or all, to whom it is handed down meanwhile (Allreduce).
enum class XhcResult { root, all };
selection::Cost xhc_cost(const selection::Shape& shape, XhcResult result);

}  // namespace tutti
