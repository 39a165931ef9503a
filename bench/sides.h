// The two sides that are compared: the host's own collectives (PMPI_) and those of Tutti (MPI_).
#pragma once

#include <mpi.h>

#include <string>

namespace tutti::bench {

enum class Side { kHost, kTutti };

/// The collectives of one side.
struct Collectives {
  decltype(&MPI_Barrier) barrier;
  decltype(&MPI_Bcast) bcast;
  decltype(&MPI_Reduce) reduce;
  decltype(&MPI_Allreduce) allreduce;
};

const Collectives& collectives_of(Side side);

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

}  // namespace tutti::bench
