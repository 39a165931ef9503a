// Errors of the host that are to be found out, and not to end the program.
#pragma once

#include "mpi/host.h"

namespace tutti::mpi {

/// While it lives, errors of a communicator are returned.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm communicator) : communicator_(communicator) {
    host.Comm_get_errhandler(communicator_, &before_);
    host.Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  ~ErrorsReturned() {
    host.Comm_set_errhandler(communicator_, before_);
    host.Errhandler_free(&before_);
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm communicator_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace tutti::mpi
