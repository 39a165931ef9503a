// Each kind of arguments with the collectives that are chosen among its algorithms.
#pragma once

#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "collectives/arguments.h"
#include "selection/model.h"

namespace tutti {

/// What a block is taken to have where its size differs between ranks and only some know it.
inline constexpr std::size_t irregular_block_bytes = std::size_t{64} * 1024;

/// Whether sizes of the collective (its name in TUTTI_ALGORITHM) differ between ranks and only some know them. Of
/// Neighbor_allgather and Neighbor_alltoall two neighbours agree, but what one sends need not be what it receives.
inline bool is_irregular(std::string_view collective) {
  return collective == "scatterv" || collective == "gatherv" || collective == "alltoallv" ||
         collective.starts_with("neighbor");
}

/// What the buffers of a rank hold, in multiples of the size that the choice is made by: the mean over the ranks.
template <class Arguments>
double rank_buffers(int ranks) {
  const double p = ranks;
  if constexpr (std::is_same_v<Arguments, BcastArguments>) return 1;
  if constexpr (std::is_same_v<Arguments, AllgatherArguments>) return 1 + p;
  if constexpr (std::is_same_v<Arguments, AlltoallArguments>) return 2 * p;
  if constexpr (std::is_same_v<Arguments, ReduceScatterArguments>) return 1 + 1 / p;
  return 2;
}

/// What the collective (its name in TUTTI_ALGORITHM) adds to the shape of its calls.
template <class Arguments>
void add_collective(selection::Shape& shape, std::string_view collective) {
  shape.buffers = rank_buffers<Arguments>(shape.ranks);
  shape.exclusive = collective == "exscan";
}

/// visit.operator()<Arguments>(names): for each kind of arguments and the collectives that are chosen by these names.
template <class Visit>
void for_each_kind(Visit visit) {
  using Names = std::initializer_list<const char*>;
  visit.template operator()<BarrierArguments>(Names{"barrier"});
  visit.template operator()<BcastArguments>(Names{"bcast"});
  visit.template operator()<ReduceArguments>(Names{"reduce"});
  visit.template operator()<AllreduceArguments>(Names{"allreduce"});
  visit.template operator()<ScatterArguments>(Names{"scatter", "scatterv"});
  visit.template operator()<GatherArguments>(Names{"gather", "gatherv"});
  visit.template operator()<AllgatherArguments>(Names{"allgather", "allgatherv"});
  visit.template operator()<AlltoallArguments>(Names{"alltoall", "alltoallv"});
  visit.template operator()<ReduceScatterArguments>(Names{"reduce_scatter"});
  visit.template operator()<ScanArguments>(Names{"scan", "exscan"});
  visit.template operator()<NeighborArguments>(Names{"neighbor", "neighborv"});
}

}  // namespace tutti
