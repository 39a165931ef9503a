#pragma once

#include "mpi/mpi_header.h"

namespace tutti::mpi {

/// What a message is matched by, or a receive, which may have wildcards.
struct Matching {
  MPI_Comm communicator = MPI_COMM_NULL;
  int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;

  /// Whether a receive of `this` could be given `message`.
  bool may_have(const Matching& message) const {
    return communicator == message.communicator && (source == MPI_ANY_SOURCE || source == message.source) &&
           (tag == MPI_ANY_TAG || tag == message.tag);
  }
};

}  // namespace tutti::mpi
