// Reductions between MPI's arguments and the core's: datatypes packed where needed, operators as functions.
#pragma once

#include "collectives/collectives.h"
#include "mpi/host.h"

namespace tutti::mpi {

struct ReductionCall {
  const void* send;
  void* receive;
  std::size_t count;
  MPI_Datatype datatype;
  MPI_Op operation;
  MPI_Comm communicator;
  std::size_t element_bytes = 0;  ///< as the core has carried it out

  std::size_t bytes() const { return count * element_bytes; }
};

/// Each returns false if the call is the host's (also to report errors in its arguments); else `code` is the result.
bool reduce(Collectives& collectives, ReductionCall& call, int root, int& code);
bool allreduce(Collectives& collectives, ReductionCall& call, int& code);
/// counts: the elements of each rank, not negative; their sum is call.count.
bool reduce_scatter(Collectives& collectives, ReductionCall& call, const std::size_t* counts, int& code);
bool scan(Collectives& collectives, ReductionCall& call, bool exclusive, int& code);
/// receive = send op receive, by our kernel; false if there is none for it.
bool reduce_local(const ReductionCall& call);

}  // namespace tutti::mpi
