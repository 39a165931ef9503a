// How the state of a communicator is built: what its ranks tell each other, and what each makes of that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/communicators.h"

namespace tutti::mpi {

/// Of what was freed before, as much as is looked at whenever something is made or freed.
inline constexpr std::size_t looked_at_each_time = 4;

/// False if `communicator` is being freed, on all ranks, so that it must not get a state. parent: has all its ranks; may be
/// null. is_gone: this thread has seen the state of a communicator with this handle go, and not the end of that.
bool build(CommunicatorState& state, MPI_Comm communicator, CommunicatorState* parent, bool is_gone);

struct Joining {
  MPI_Comm communicator;
  int rank, size;
  CommunicatorState* parent;     ///< has all its ranks; may be null
  SpanningState* apart_from;     ///< null, or the state is for one persistent call of a communicator that spans nodes
  bool is_gone;                  ///< see build()
  std::uint64_t free_apart = 0;  ///< of this rank (KeptApart), and then what is so on all of them
};

/// Makes the layout of a communicator whose ranks are those of `joining.communicator`, or finds the reason why there is none.
/// False if all ranks say that it is being freed. Collective over it.
bool join(CommunicatorState& state, Joining& joining);

/// What is free on all ranks (KeptApart). Collective over the communicator, whose state is `of`.
std::uint64_t free_apart_on_all(CommunicatorState& of, std::uint64_t free);

/// Makes what a communicator of ours needs for its collectives, when they are called for the first time. Each rank by
/// itself: what it has to know of the others it knows. Another thread may revoke the communicator meanwhile.
void set_out(CommunicatorState& state);

}  // namespace tutti::mpi
