// What is tried where peers do not map the buffers of a call: they reach them by the kernel, or through copies.
#pragma once

#include <vector>

#include "selection/candidates.h"

namespace tutti::selection {

/// Beside or instead of `chosen`, which is for the same calls with mapped buffers. Nothing that stores into buffers of
/// others, unless the model says that all else takes far longer: who lends a copy has to copy once more what comes, and
/// how long the kernel takes to store the model knows least.
template <class Arguments>
std::vector<Candidate<Arguments>> candidates_where_unmapped(const Chosen<Arguments>& chosen,
                                                            std::string_view collective,
                                                            std::span<const Algorithm<Arguments>* const> algorithms,
                                                            const Shape& shape, bool or_lent,
                                                            const Knowledge& knowledge, TriedCalls calls) {
  const auto all = candidates_unmapped(chosen, collective, algorithms, shape, or_lent, knowledge, calls);
  if (all.empty() || chosen.reason == Reason::table) return all;
  std::vector<const Algorithm<Arguments>*> reading;
  for (const auto* each : algorithms)
    if (!each->traits.stores_to_peers) reading.push_back(each);
  auto read = candidates_unmapped<Arguments>(chosen, collective, reading, shape, or_lent, knowledge, calls);
  return read.empty() || read[0].seconds > tried_within_unmapped * all[0].seconds ? all : read;
}

}  // namespace tutti::selection
