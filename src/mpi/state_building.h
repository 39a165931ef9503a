// How the state of a communicator is built: what its ranks tell each other, and what each makes of that.
#pragma once

#include <cstddef>

#include "mpi/communicators.h"

namespace tutti::mpi {

/// Of what was freed before, as much as is looked at whenever something is made or freed.
inline constexpr std::size_t looked_at_each_time = 4;

/// False if `communicator` is being freed, on all ranks, so that it must not get a state. parent: has all its ranks; may be
/// null. is_gone: this thread has seen the state of a communicator with this handle go, and not the end of that.
bool build(CommunicatorState& state, MPI_Comm communicator, CommunicatorState* parent, bool is_gone);

/// Makes the layout of a communicator whose ranks are those of `communicator`, or finds the reason why there is none. False if
/// all ranks say that `communicator` is being freed. Collective over it.
bool join(CommunicatorState& state, MPI_Comm communicator, int rank, int size, CommunicatorState* parent, bool is_gone);

/// Makes what a communicator of ours needs for its collectives, when they are called for the first time. Each rank by
/// itself: what it has to know of the others it knows. Another thread may revoke the communicator meanwhile.
void set_out(CommunicatorState& state);

}  // namespace tutti::mpi
