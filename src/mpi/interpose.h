// What the files of interposed functions share.
#pragma once

#include "collectives/collectives.h"
#include "mpi/host.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::mpi {

/// Notes what this thread's collective that just ended was, for tutti_last_choice(): one of ours, `bytes` of `buffer` of
/// this rank (one block of them where all are of one size), or the host's.
void remember(Collectives& collectives, const void* buffer, std::size_t bytes);
void remember_host();

/// `ours` returns false if the call is the host's, else sets the code, its last argument; it takes the same arguments as
/// the host's function. `forward` is read after resolve(), which a call before MPI_Init needs.
template <class Ours, class Forward, class... Arguments>
int ours_or(Ours ours, Forward& forward, Arguments... arguments) {
  int code = MPI_SUCCESS;
  if (ours(arguments..., code)) return code;
  resolve();
  remember_host();
  return forward(arguments...);
}

}  // namespace tutti::mpi
