// Errors of nonblocking collectives. They are found when the call goes on, and the program is told when it completes it. The
// host does not know of them: it would raise them on another communicator.
#pragma once

#include <utility>

#include "mpi/host.h"

namespace tutti::mpi {

struct RaisedError {
  MPI_Request request;
  int code;
  MPI_Comm communicator;
  RaisedError* next;
};
/// Of the calls that the host has completed on this thread, as far as the program was not told: the last one first.
extern constinit thread_local RaisedError* raised_errors;

/// Takes them; they are deleted in the end.
class RaisedErrors {
 public:
  RaisedErrors() : first_(std::exchange(raised_errors, nullptr)) {}
  RaisedErrors(const RaisedErrors&) = delete;
  RaisedErrors& operator=(const RaisedErrors&) = delete;
  ~RaisedErrors() {
    while (first_) delete std::exchange(first_, first_->next);
  }

  bool any() const { return first_ != nullptr; }
  const RaisedError& last() const { return *first_; }
  /// MPI_SUCCESS if it has none.
  int of(MPI_Request request) const {
    for (const RaisedError* each = first_; each; each = each->next)
      if (each->request == request) return each->code;
    return MPI_SUCCESS;
  }

 private:
  RaisedError* first_;
};

}  // namespace tutti::mpi
