// Hosts that let others hook into their progress: there, whatever call of the host a rank waits in drives our calls, too.
#pragma once

namespace tutti::mpi {

/// Whether this host does; equal on all ranks. Known from when this part has been loaded.
bool host_can_be_hooked();
/// Something of ours is under way.
void hook_host();
/// Inside MPI_Finalize. turn: gives the host its turn.
void unhook_host(void (*turn)());

}  // namespace tutti::mpi
