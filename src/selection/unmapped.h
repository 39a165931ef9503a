// What is tried where peers do not map the buffers of a call: they reach them by the kernel, or through copies.
#pragma once

#include <vector>

#include "selection/candidates.h"

namespace tutti::selection {

/// How much the model knows of such memory: what it says takes so many times as long is not tried.
inline constexpr double tried_within_unmapped = 3;

/// For calls like those that `chosen` is for, but for their buffers; may_lend: their owners may lend copies. A candidate is
/// an algorithm and a way of lending, since what is fast with copies may be slow by the kernel. By the kernel nothing
/// stores into such buffers, unless the model says that all else takes far longer. A reduction gets the same bits in both
/// kinds of memory, so that what combines in another order than `chosen` is left out.
template <class Arguments>
std::vector<Candidate<Arguments>> candidates_where_unmapped(const Chosen<Arguments>& chosen,
                                                            std::string_view collective,
                                                            std::span<const Algorithm<Arguments>* const> algorithms,
                                                            Shape shape, bool may_lend, const Knowledge& knowledge,
                                                            TriedCalls calls) {
  if (!chosen.algorithm) return {};
  std::vector<const Algorithm<Arguments>*> alike, reading;
  for (const auto* each : algorithms) {
    if (!has_same_bits(each, chosen.algorithm, shape, calls)) continue;
    alike.push_back(each);
    if (!each->traits.stores_where_unmapped()) reading.push_back(each);
  }
  std::vector<Candidate<Arguments>> found;
  for (const Lending lending : {Lending::as_it_is, Lending::copied, Lending::copied_past_caches}) {
    if (lending != Lending::as_it_is && !may_lend) continue;
    shape.reach = lending == Lending::as_it_is ? Reach::kernel : Reach::staged;
    shape.past_caches = lending == Lending::copied_past_caches;
    Chosen<Arguments> best = choose<Arguments>(collective, alike, shape, knowledge);
    const Chosen<Arguments> read = choose<Arguments>(collective, reading, shape, knowledge);
    std::vector<const Algorithm<Arguments>*> tried = lending == Lending::as_it_is ? reading : alike;
    const bool is_asked_for = best.reason == Reason::table || read.reason == Reason::refused;
    if (!is_asked_for && read.algorithm && read.seconds <= 2 * best.seconds)
      best = read;
    else if (best.algorithm && best.algorithm->traits.stores_where_unmapped())
      tried.push_back(best.algorithm);
    for (auto& each : candidates_beside<Arguments>(best, collective, tried, shape, knowledge, calls)) {
      each.lending = lending;
      // Results that peers store come to a copy, too, which is read at once. What is only read is lent as mapped
      // buffers are.
      const Traits& traits = each.algorithm->traits;
      if (lending == Lending::copied && (traits.stores_to_peers || traits.has_one_reader(shape.ranks)))
        each.moving = traits.stores_to_peers ? Moving::caches : Moving::lent;
      found.push_back(each);
    }
  }
  sort_by_seconds(found);
  while (!found.empty() && found.back().seconds > tried_within_unmapped * found.front().seconds) found.pop_back();
  if (found.size() > OnlineChoice::most) found.resize(OnlineChoice::most);
  return found;
}

}  // namespace tutti::selection
