// Who sends to whom on a communicator with a topology.
#pragma once

#include <vector>

#include "mpi/host.h"

namespace tutti::mpi {

/// The neighbours of this rank in the order of their blocks (MPI 4.1, section 8.6); negative for null processes.
struct Neighborhood {
  bool exists = false;  ///< false: the communicator has no topology
  std::vector<int> sources, destinations;
  std::vector<int> source_blocks;       ///< which block of what the source sends is received; see NeighborArguments
  std::vector<int> destination_blocks;  ///< which block of what the destination receives is sent
};

/// Collective for distributed graphs.
Neighborhood find_neighborhood(MPI_Comm communicator, int rank, int size);

}  // namespace tutti::mpi
