// The two sides that are compared: the host's own collectives (PMPI_) and those of Tutti (MPI_).
#pragma once

#include <mpi.h>

#include <string>

namespace tutti::bench {

enum class Side { kHost, kTutti };

// clang-format off
#define TUTTI_BENCH_FUNCTIONS(X)                                                                                  \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Scan) X(Exscan) X(Scatter) X(Scatterv) X(Gather) X(Gatherv)        \
  X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw) X(Reduce_scatter) X(Reduce_scatter_block)      \
  X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)
// clang-format on

/// The collectives of one side, under their names in MPI.
struct Functions {
#define TUTTI_BENCH_MEMBER(name) decltype(&MPI_##name) name;
  TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_MEMBER)
#undef TUTTI_BENCH_MEMBER
};

const Functions& functions_of(Side side);

/// True if the library stands in front of the host, i.e. MPI_ and PMPI_ are functions of different files and that of
/// MPI_ is Tutti's.
bool tutti_is_loaded();

/// "MPICH 5.0.2", "Open MPI 5.0.11", "Intel MPI 2021.18"; for others the first line of MPI_Get_library_version.
std::string host_name();

/// What Tutti did in its last collective on this rank; empty strings if it does not say.
struct Choice {
  std::string algorithm;
  std::string mechanism;
};
Choice last_choice();

/// Lets Tutti choose anew on this communicator: algorithm as TUTTI_ALGORITHM, mechanism as TUTTI_MECHANISM. Collective,
/// between calls. False, on all ranks, if it cannot: not loaded, or the communicator is the host's.
bool set_choice(MPI_Comm communicator, const std::string& algorithm, const std::string& mechanism);

}  // namespace tutti::bench
