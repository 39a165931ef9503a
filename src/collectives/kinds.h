// The list of the collectives, and the arguments of all. From it follow what Collectives has of each (its method, its
// choices and that these are forgotten) and the names that users, tables and files speak of.
#pragma once

#include <string_view>

#include "collectives/allgather/arguments.h"
#include "collectives/allreduce/arguments.h"
#include "collectives/alltoall/arguments.h"
#include "collectives/barrier/arguments.h"
#include "collectives/bcast/arguments.h"
#include "collectives/gather/arguments.h"
#include "collectives/neighbor/arguments.h"
#include "collectives/reduce/arguments.h"
#include "collectives/reduce_scatter/arguments.h"
#include "collectives/scan/arguments.h"
#include "collectives/scatter/arguments.h"
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
/// Of the former only.
#define TUTTI_KINDS(KIND) TUTTI_COLLECTIVES(KIND, TUTTI_NOTHING)
#define TUTTI_NOTHING(Of, name)

namespace tutti {

/// Whether sizes of the collective (its name in TUTTI_ALGORITHM) differ between ranks and only some know them.
inline bool is_irregular(std::string_view collective) {
#define TUTTI_FIRST(Of, name) \
  if (collective == #name) return Kind<Of##Arguments>::sizes_differ == SizesDiffer::always;
#define TUTTI_SECOND(Of, name) \
  if (collective == #name) return Kind<Of##Arguments>::sizes_differ != SizesDiffer::never;
  TUTTI_COLLECTIVES(TUTTI_FIRST, TUTTI_SECOND)
#undef TUTTI_FIRST
#undef TUTTI_SECOND
  return false;
}

/// What the collective (its name in TUTTI_ALGORITHM) adds to the shape of its calls.
template <class Arguments>
void add_collective(selection::Shape& shape, std::string_view collective) {
  shape.buffers = Kind<Arguments>::buffers(shape.ranks);
  shape.exclusive = Kind<Arguments>::is_exclusive(collective);
}

/// visit.operator()<Arguments>(name): for each collective, by its name in TUTTI_ALGORITHM.
template <class Visit>
void for_each_collective(Visit visit) {
#define TUTTI_VISIT(Of, name) visit.template operator()<Of##Arguments>(#name);
  TUTTI_COLLECTIVES(TUTTI_VISIT, TUTTI_VISIT)
#undef TUTTI_VISIT
}

}  // namespace tutti
