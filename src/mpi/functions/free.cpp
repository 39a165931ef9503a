// The functions that free communicators: while they run, the collectives of these are the host's. And those that free types
// and operators, which calls under way may still use.

#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/kept_handles.h"

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

TUTTI_EXPORT int MPI_Type_free(MPI_Datatype* datatype) {
  if (datatype && free_later(key_of(*datatype))) {
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
  }
  return next.Type_free(datatype);
}

TUTTI_EXPORT int MPI_Op_free(MPI_Op* op) {
  if (op && free_later(key_of(*op))) {
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
  }
  return next.Op_free(op);
}
