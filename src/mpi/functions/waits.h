// The host's waits, in which requests of ours go on.
#pragma once

namespace tutti::mpi {

/// Once, before any function of ours is called: calls of MPI_Wait and the like that go on to the host, a tool's too, end in
/// functions of ours that ask it again and again while requests of ours are under way.
void take_over_waits();

}  // namespace tutti::mpi
