// The end of a job in the middle of a collective, where its ranks cannot go on.
#pragma once

#include <exception>
#include <utility>

#include "mpi/mpi_header.h"

namespace tutti::mpi {

/// This rank's part in a collective of the library cannot be done, while its peers wait for it: says why, for the first
/// rank of the node that comes here, and ends the job. An error code would not do: what the peers have got by then is
/// incomplete, and they would go on waiting.
[[noreturn]] void end_job(MPI_Comm communicator, const std::exception& problem);
/// Of the exception that is being handled: the same, but for those by which a collective ends on all its ranks, which go on.
[[noreturn]] void end_job_or_rethrow(MPI_Comm communicator);

/// part(), in which others wait for this rank: what goes wrong ends the job.
template <class Part>
auto without_return(MPI_Comm communicator, Part&& part) {
  try {
    return std::forward<Part>(part)();
  } catch (...) {
    end_job_or_rethrow(communicator);
  }
}

}  // namespace tutti::mpi
