// The functions that free communicators: while they run, the collectives of these are the host's.

#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"

namespace tutti::mpi {

namespace {

template <class Forward>
int free_by(const Forward& forward, MPI_Comm* communicator) {
  const BeingFreed being_freed(communicator ? *communicator : MPI_COMM_NULL);
  return forward(communicator);
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  return free_by(next.Comm_free, comm);
}

/// It returns when what is under way on the communicator has ended.
TUTTI_EXPORT int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (requests.under_way() && comm)
    if (const CommunicatorState* const state = known_state(*comm)) requests.wait_for_all_of(*state);
  return free_by(next.Comm_disconnect, comm);
}
