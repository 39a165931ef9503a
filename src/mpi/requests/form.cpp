#include "mpi/requests/form.h"

namespace tutti::mpi {

int finish(bool too_little_room, MPI_Comm communicator, int code) {
  if (!too_little_room) [[likely]]
    return code;
  host.Comm_call_errhandler(communicator, MPI_ERR_TRUNCATE);
  return MPI_ERR_TRUNCATE;
}

}  // namespace tutti::mpi
