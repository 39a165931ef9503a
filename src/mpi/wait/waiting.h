// How the ranks of a node wait for each other.
#pragma once

#include "engine/node.h"
#include "mpi/mpi_header.h"
#include "mpi/start/node_ranks.h"

namespace tutti::mpi {

/// A request of nobody's: to ask for its status gives the host its turn and changes nothing (MPI 4.1, 3.7.6 and 13.2).
MPI_Request start_host_turn();
void end_host_turn(MPI_Request& host_turn);

/// Makes node.waiter, which gives the host its turn, reports long waits (TUTTI_TIMEOUT) and ends the job when a peer
/// has died; begins to watch for that. The peers' arenas are mapped. The node lives until the process ends.
void set_up_waiting(Node& node, const NodeRanks& here, MPI_Request host_turn);

}  // namespace tutti::mpi
