// What is tried where peers do not map the buffers of a call: they reach them by the kernel, or through copies.
#pragma once

#include <vector>

#include "selection/candidates.h"

namespace tutti::selection {

/// For calls like those that `chosen` is for, but for their buffers; or_lent: their owners may lend copies. Nothing that
/// stores into such buffers, unless the model says that all else takes far longer: who lends a copy would have to copy
/// once more what comes. A reduction gets the same bits in both kinds of memory, so that what combines in another order
/// than `chosen` is left out.
template <class Arguments>
std::vector<Candidate<Arguments>> candidates_where_unmapped(const Chosen<Arguments>& chosen,
                                                            std::string_view collective,
                                                            std::span<const Algorithm<Arguments>* const> algorithms,
                                                            Shape shape, bool or_lent, const Knowledge& knowledge,
                                                            TriedCalls calls) {
  if (!chosen.algorithm) return {};
  shape.reach = Reach::kernel;
  shape.or_lent = or_lent;
  std::vector<const Algorithm<Arguments>*> alike, tried;
  for (const auto* each : algorithms) {
    if (!has_same_bits(each, chosen.algorithm, shape, calls)) continue;
    alike.push_back(each);
    if (!each->traits.stores_to_peers) tried.push_back(each);
  }
  Chosen<Arguments> best = choose<Arguments>(collective, alike, shape, knowledge);
  const Chosen<Arguments> read = choose<Arguments>(collective, tried, shape, knowledge);
  const bool is_asked_for = best.reason == Reason::table || read.reason == Reason::refused;
  if (!is_asked_for && read.algorithm && read.seconds <= tried_within_unmapped * best.seconds)
    best = read;
  else if (best.algorithm && best.algorithm->traits.stores_to_peers)
    tried.push_back(best.algorithm);
  return candidates_beside<Arguments>(best, collective, tried, shape, knowledge, calls);
}

}  // namespace tutti::selection
