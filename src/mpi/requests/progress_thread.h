// A thread that makes calls of ours go on where nobody else does: while a rank waits in a call of a host that cannot be
// hooked, or computes. It calls the host for messages between nodes alone, and only where any thread may.
#pragma once

#include "mpi/requests/request.h"

namespace tutti::mpi {

/// Inside MPI_Init. at_once: it does not wait until nobody else drives. has_processor: beside those that ranks need, so that
/// then it looks all the time.
void set_up_progress_thread(bool at_once, bool has_processor);
/// Something of ours is under way. Nothing where no thread is needed.
void wake_progress_thread();
/// What it may do of what calls the host.
Request::Allowed allowed_to_progress_thread();
/// Whether it takes part at once, so that a rank which starts a call may leave all of it to it.
bool progress_thread_is_at_work();
/// Inside MPI_Finalize.
void end_progress_thread();

/// Whether the calling thread is the one.
bool is_progress_thread();

}  // namespace tutti::mpi
