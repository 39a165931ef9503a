// The end of a job in the middle of a collective, where its ranks cannot go on.
#pragma once

#include <exception>

#include "mpi/mpi_header.h"

namespace tutti::mpi {

/// This rank's part in a collective of the library cannot be done, while its peers wait for it: says why, for the first
/// rank of the node that comes here, and ends the job. An error code would not do: what the peers have got by then is
/// incomplete, and they would go on waiting.
[[noreturn]] void end_job(MPI_Comm communicator, const std::exception& problem);

}  // namespace tutti::mpi
