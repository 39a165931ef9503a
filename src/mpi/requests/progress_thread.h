// A thread that makes calls of ours go on where nobody else does: while a rank waits in a call of a host that cannot be
// hooked, or computes. It never calls the host.
#pragma once

namespace tutti::mpi {

/// Inside MPI_Init. at_once: it does not wait until nobody else drives.
void set_up_progress_thread(bool at_once);
/// Something of ours is under way. Nothing where no thread is needed.
void wake_progress_thread();
/// Inside MPI_Finalize.
void end_progress_thread();

/// Whether the calling thread is the one.
bool is_progress_thread();

}  // namespace tutti::mpi
