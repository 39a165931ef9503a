// How the ranks of a node wait for each other.
#pragma once

#include "engine/node.h"
#include "mpi/mpi_header.h"
#include "mpi/start/node_ranks.h"
#include "mpi/wait/peer_watch.h"
#include "sync/waiter.h"

namespace tutti::mpi {

/// A request of nobody's: to ask for its status gives the host its turn and changes nothing (MPI 4.1, 3.7.6 and 13.2).
MPI_Request start_host_turn();
void end_host_turn(MPI_Request& host_turn);

/// By the settings: what follows the spinning, and for how many polls that goes on.
sync::WaitOptions wait_options_of(const Node& node);

/// Makes node.waiter, which gives the host its turn, reports long waits (TUTTI_TIMEOUT) and ends the job when a peer
/// has died; begins to watch for that, and returns who does. The peers' arenas are mapped. The node lives until the process ends.
PeerWatch* set_up_waiting(Node& node, const NodeRanks& here, MPI_Request host_turn);

}  // namespace tutti::mpi
