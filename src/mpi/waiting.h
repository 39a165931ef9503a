// How the ranks of a node wait for each other.
#pragma once

#include "engine/node.h"
#include "mpi/mpi_header.h"
#include "mpi/neighbours.h"

namespace tutti::mpi {

/// Makes node.waiter, which gives the host its turn by probing `progress`, reports long waits (TUTTI_TIMEOUT) and ends the
/// job when a peer has died; begins to watch for that. The peers' arenas are mapped. The node lives until the process
/// ends.
void set_up_waiting(Node& node, const Neighbours& here, MPI_Comm progress);

}  // namespace tutti::mpi
