// The functions that make persistent collectives. Open MPI 4.1 has them by other names, so that which ones they are is said
// in a file (inits.cpp) that is compiled for each host.
#pragma once

#include <mpi.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define TUTTI_INIT_NAME(name) MPIX_##name##_init
#else
#define TUTTI_INIT_NAME(name) MPI_##name##_init
#endif

// clang-format off
#define TUTTI_INITS(X)                                                                                            \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan)          \
  X(Scatter) X(Scatterv) X(Gather) X(Gatherv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw)    \
  X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)
// clang-format on

namespace tutti::tests {

struct Inits {
#define TUTTI_MEMBER(name) decltype(&TUTTI_INIT_NAME(name)) name;
  TUTTI_INITS(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};
extern const Inits inits;

}  // namespace tutti::tests
