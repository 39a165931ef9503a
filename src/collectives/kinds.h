// The list of the collectives. From it follow what Collectives has of each (its method, its choices and that these are
// forgotten) and the names that users, tables and files speak of.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "collectives/arguments.h"
#include "selection/model.h"

// KIND(Kind, name): a collective with KindArguments. The method of Collectives and the folder of the algorithms have
// this name; it stands in TUTTI_ALGORITHM, too.
// ALSO(Kind, name): what is chosen among the same algorithms, but apart and by another name in TUTTI_ALGORITHM.
// clang-format off
#define TUTTI_COLLECTIVES(KIND, ALSO)                        \
  KIND(Barrier, barrier)                                     \
  KIND(Bcast, bcast)                                         \
  KIND(Reduce, reduce)                                       \
  KIND(Allreduce, allreduce)                                 \
  KIND(Scatter, scatter) ALSO(Scatter, scatterv)             \
  KIND(Gather, gather) ALSO(Gather, gatherv)                 \
  KIND(Allgather, allgather) ALSO(Allgather, allgatherv)     \
  KIND(Alltoall, alltoall) ALSO(Alltoall, alltoallv)         \
  KIND(ReduceScatter, reduce_scatter)                        \
  KIND(Scan, scan) ALSO(Scan, exscan)                        \
  KIND(Neighbor, neighbor) ALSO(Neighbor, neighborv)
// clang-format on

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

/// visit.operator()<Arguments>(name): for each collective, by its name in TUTTI_ALGORITHM.
template <class Visit>
void for_each_collective(Visit visit) {
#define TUTTI_VISIT(Kind, name) visit.template operator()<Kind##Arguments>(#name);
  TUTTI_COLLECTIVES(TUTTI_VISIT, TUTTI_VISIT)
#undef TUTTI_VISIT
}

}  // namespace tutti
