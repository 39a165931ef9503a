// Hosts that let others hook into their progress: there, whatever call of the host a rank waits in drives our calls, too.
#pragma once

#include "mpi/mpi_header.h"

namespace tutti::mpi {

/// Whether this host does; equal on all ranks. Known from when this part has been loaded.
bool host_can_be_hooked();
/// Something of ours is under way.
void hook_host();
/// Inside MPI_Finalize. turn: gives the host its turn.
void unhook_host(void (*turn)());

/// Whether the host is calling us out of its progress in this thread: it must not be asked to go on then.
bool is_inside_host();
/// Whether MPI_Test and the like may be asked about the request there: of one that is not over they would have the host go
/// on, which not every host bears.
bool may_be_tested_inside_host(MPI_Request request);
/// Does what can be done for all that is under way, as out of the host's progress, and completes what is over.
void drive_without_host();

}  // namespace tutti::mpi
