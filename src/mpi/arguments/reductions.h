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

/// In a form (mpi/requests/form.h). Each returns false if the call is the host's (also to report
/// errors in its arguments).
template <class Form>
bool reduce(Collectives& collectives, ReductionCall& call, int root, Form& form);
template <class Form>
bool allreduce(Collectives& collectives, ReductionCall& call, Form& form);
/// counts: the elements of each rank, not negative; their sum is call.count. They last as long as the call.
template <class Form>
bool reduce_scatter(Collectives& collectives, ReductionCall& call, const std::size_t* counts, Form& form);
template <class Form>
bool scan(Collectives& collectives, ReductionCall& call, bool exclusive, Form& form);
/// receive = send op receive, by our kernel; false if there is none for it.
bool reduce_local(const ReductionCall& call);

}  // namespace tutti::mpi
