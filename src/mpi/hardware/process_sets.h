// Process sets (MPI 4.1, Sessions Model) of a communicator's ranks.
#pragma once

#include <string>

#include "mpi/host.h"

namespace tutti::mpi::hardware {

/// What tells the process set `name` that this process is in from others of that name: the lowest of its ranks in
/// `communicator`. -1 if this process is in none of this name, as far as it and the host know.
int lowest_of_process_set(MPI_Comm communicator, const std::string& name);

}  // namespace tutti::mpi::hardware
