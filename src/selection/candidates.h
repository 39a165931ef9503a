// Which algorithms are tried against each other where the model says that they are about as fast.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/staging_trial.h"
#include "selection/algorithm.h"
#include "selection/online_choice.h"

namespace tutti::selection {

/// By so much the model may be wrong: what it says takes longer is not tried.
inline constexpr double tried_within = 2;
/// The same for the cheapest of each other way of moving bytes: which of those is best depends most on how near each other
/// the cores are, and a virtual machine may not tell.
inline constexpr double tried_within_moving = 4;
/// Of smaller messages the choice stays with the model: to find the candidate would be a part of the call.
inline constexpr std::size_t least_tried = std::size_t{4} << 10;
/// Most candidates for buffers of one kind that are handed to peers in one way.
inline constexpr std::size_t most_of_a_kind = 6;
static_assert(most_of_a_kind <= OnlineChoice::most);

/// One algorithm with its parameter, and how bytes are moved.
template <class Arguments>
struct Candidate {
  const Algorithm<Arguments>* algorithm;
  int parameter;
  double seconds;
  Moving moving = Moving::plain;        ///< where peers map the buffers
  std::optional<Lending> lending = {};  ///< where they do not; none: each rank finds out for its own

  bool is_like(const Candidate& other) const {
    return algorithm == other.algorithm && parameter == other.parameter && moving == other.moving &&
           lending == other.lending;
  }
};

/// Puts them in the order of their seconds; equal ones stay as they are. They are few, and std::stable_sort, once for each kind
/// of arguments, is a quarter of what compiling a choice takes.
template <class Arguments>
void sort_by_seconds(std::vector<Candidate<Arguments>>& candidates) {
  for (std::size_t i = 1; i < candidates.size(); ++i)
    for (std::size_t k = i; k > 0 && candidates[k].seconds < candidates[k - 1].seconds; --k)
      std::swap(candidates[k], candidates[k - 1]);
}

/// What the calls are that the candidates are for.
struct TriedCalls {
  bool reduce = false;  ///< the candidates must combine in the same order, since the same call gives the same bits
};

/// Whether calls of such a shape may be tried: those of one class are alike, and none is so small that finding the
/// candidate would matter.
inline bool may_be_tried(const Shape& shape) {
  return shape.regular && shape.commutative && shape.bytes >= least_tried;
}

/// Whether a call gives the same bits by both.
template <class Arguments>
bool has_same_bits(const Algorithm<Arguments>* one, const Algorithm<Arguments>* other, const Shape& shape,
                   TriedCalls calls) {
  // Two ranks have one order only.
  if (!calls.reduce || shape.ranks <= 2 || one == other) return true;
  return one->traits.in_rank_order && other->traits.in_rank_order;
}

/// `chosen` first; then the cheapest of each other way of moving bytes, and what else may be tried of what the user allows,
/// the cheapest ones by the model. None where there is no choice of ours, or one that the user has not asked for: one line
/// has named it then.
template <class Arguments>
std::vector<Candidate<Arguments>> candidates_beside(const Chosen<Arguments>& chosen, std::string_view collective,
                                                    std::span<const Algorithm<Arguments>* const> algorithms,
                                                    const Shape& shape, const Knowledge& knowledge, TriedCalls calls) {
  if (!chosen.algorithm || chosen.reason == Reason::refused) return {};
  const Candidate<Arguments> first{chosen.algorithm, chosen.parameter, chosen.seconds, chosen.moving};
  std::vector<Candidate<Arguments>> found;
  for_each_eligible(collective, algorithms, shape, knowledge, true,
                    [&](const Algorithm<Arguments>* algorithm, int parameter, Moving moving, double seconds) {
                      const Candidate<Arguments> each{algorithm, parameter, seconds, moving};
                      if (!each.is_like(first) && has_same_bits(algorithm, chosen.algorithm, shape, calls))
                        found.push_back(each);
                    });
  sort_by_seconds(found);
  std::vector<Candidate<Arguments>> out{first};
  unsigned ways = 1U << static_cast<unsigned>(chosen.moving);
  for (const bool other_ways : {true, false})
    for (const auto& each : found) {
      const unsigned way = 1U << static_cast<unsigned>(each.moving);
      const bool is_new = !(ways & way);
      const double within = other_ways ? tried_within_moving : tried_within;
      if (is_new != other_ways || each.seconds > within * chosen.seconds || out.size() == most_of_a_kind) continue;
      const auto is_taken = [&](const Candidate<Arguments>& taken) { return taken.is_like(each); };
      if (std::any_of(out.begin(), out.end(), is_taken)) continue;
      out.push_back(each);
      if (other_ways) ways |= way;
    }
  return out;
}

}  // namespace tutti::selection
