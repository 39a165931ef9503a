// Which functions MPI_Bcast and MPI_Allreduce are in this process: Tutti's or the host's own, from one call to the next.
//
// Bindings for Fortran call MPI_X or PMPI_X of C, by the host; what they call is found in the program first. So the
// program defines both, and hands each call on, with one jump on either way. What stands before it, the binding or the
// call in C, is the same on both.
#pragma once

namespace tutti::bench {

enum class Way { kHost, kTutti };

void take(Way way);

/// Whether there are two ways: Tutti is loaded, and the host's own functions were found.
bool ways_are_two();

}  // namespace tutti::bench
