// The call for the ranks of all nodes, over the names that the launcher keeps for MPI_Publish_name.
#pragma once

#include "mpi/start/job_call.h"

namespace tutti::mpi {

/// That of this process. self: of the first call.
JobCall& job_call(const JobCall::Self& self);
/// Inside MPI_Finalize: where not all ranks take part, names have stayed for those that were late.
void forget_job_call();

}  // namespace tutti::mpi
