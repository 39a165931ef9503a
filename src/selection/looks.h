// What it takes to look at the flags of many ranks one after the other, in hops, for the costs of algorithms.
//
// A line that another core has written takes a hop to come. Of lines that are asked for one after the other the later
// ones take less: the core asks for several at once. Between two ranks there is one such line, and each algorithm has
// what was measured there in a number of its own. Here is what every further rank adds: as it was measured with 16 ranks
// on 16 cores that share a cache (docs/measurements/predictions.md).
#pragma once

#include <algorithm>

#include "selection/model.h"

namespace tutti::selection {

/// A line of each further rank, where all ranks look at those of all others: each line is asked for by many.
inline constexpr double all_look = 0.25;
/// The same where one rank looks, and nobody else does.
inline constexpr double one_looks = 0.1;
/// Of one line, for each further rank that looks at it.
inline constexpr double many_look = 0.15;
/// A line of each further rank that is stored into, where its owner has looked at it.
inline constexpr double one_stores = 1.0;
/// All ranks look at one that serves them, then this one at them.
inline constexpr double there_and_back = many_look + one_looks;

/// A further step of an algorithm in which each has another partner: where its memory is, its flag and what it has.
inline constexpr double step_with_another = 3.5;
/// The same where the partner's memory is known, or has been told of long ago.
inline constexpr double step_with_known = 2.25;

/// Ranks beyond the first two.
inline double further_ranks(const Shape& shape) {
  return std::max(0.0, shape.ranks - 2.0);
}

/// Children of a leader beyond one in each level.
inline double further_children(const Shape& shape) {
  return std::max(0.0, shape.branching().children - shape.levels);
}

/// Steps beyond the first.
inline double further_steps(double steps) {
  return std::max(0.0, steps - 1);
}

}  // namespace tutti::selection
