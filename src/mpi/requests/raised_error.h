// Errors of nonblocking collectives. They are found when the call goes on, and the program is told when it completes it.
#pragma once

#include "mpi/host.h"

namespace tutti::mpi {

/// Of a call that the host has completed on this thread since it was looked at last.
struct RaisedError {
  int code;
  MPI_Comm communicator;
};
extern constinit thread_local RaisedError raised_error;

}  // namespace tutti::mpi
