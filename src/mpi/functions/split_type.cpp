// The MPI functions that ask for the hardware, and what libtutti-comm asks of the library.
#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"
#include "mpi/hardware/split.h"
#include "mpi/hardware/this_process.h"

using namespace tutti;

TUTTI_EXPORT int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  const int code =
      mpi::without_return(comm, [=] { return mpi::hardware::split(comm, split_type, key, info, newcomm); });
  return mpi::made(code, newcomm, comm);
}

TUTTI_EXPORT int MPI_Get_hw_resource_info(MPI_Info* hw_info) {
  return mpi::guard(MPI_COMM_SELF, "MPI_Get_hw_resource_info", [=] { return mpi::hardware::resource_info(hw_info); });
}

/// 1 if splits by hardware are ours, else 0.
TUTTI_EXPORT int tutti_splits_by_hardware() {
  return mpi::hardware::is_ours();
}

/// MPI_Get_hw_resource_info, also where the host has none. -1 if splits by hardware are not ours.
TUTTI_EXPORT int tutti_hw_resource_info(void* info) {
  return mpi::hardware::is_ours() ? mpi::hardware::resource_info(static_cast<MPI_Info*>(info)) : -1;
}

/// How far the calling thread is from the nearest network card, 0 for the nearest; -1: not known.
TUTTI_EXPORT int tutti_network_distance() {
  return mpi::hardware::is_ours() ? mpi::hardware::network_distance() : -1;
}
