// Communicators that follow the hardware (MPI 4.1, MPI_COMM_SPLIT_TYPE; MPC, sections 6 and 7), on every host.
#pragma once

#include "mpi/host.h"

namespace tutti::mpi::hardware {

/// MPI_Comm_split_type. What is not by hardware goes on to the host. The communicators are the host's own.
int split(MPI_Comm communicator, int split_type, int key, MPI_Info info, MPI_Comm* made);

/// MPI_Get_hw_resource_info (MPI 4.1): for each type of the machine, whether the calling thread can only
/// run in one object of it.
int resource_info(MPI_Info* info);

}  // namespace tutti::mpi::hardware
