// Calls of ours that come out of the host's own progress (host_hook.h).
#pragma once

namespace tutti::mpi {

/// Whether the host is calling us out of its progress in this thread: it must not be asked to go on then.
bool is_inside_host();

}  // namespace tutti::mpi
