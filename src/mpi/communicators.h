// The library's state of a communicator: hangs on an MPI attribute, found through a cache of the thread's last one.
#pragma once

#include <memory>

#include "collectives/collectives.h"
#include "mpi/explain.h"
#include "mpi/host.h"
#include "mpi/neighborhood.h"
#include "mpi/node_setup.h"

namespace tutti::mpi {

/// One communicator. Without `collectives` everything goes to the host; `refusal` says why.
struct CommunicatorState {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Neighborhood> neighborhood;  ///< looked up when first needed
  bool revoked = false;                        ///< by the program, as the host is to tell it
  Refusal refusal = Refusal::arguments;
};

/// The job, or null before MPI_Init, after MPI_Finalize and where the library is inactive.
Job* job();
/// To be called inside the interposed MPI_Init and MPI_Finalize.
void start();
void stop();

/// A communicator was just made, on all its ranks: builds its state, so that its collectives need not. Nothing if
/// the call that made it failed, or for MPI_COMM_NULL.
int made(int code, const MPI_Comm* communicator);

/// The collectives of `communicator`; null if the host is to be called. The state of one that was made unseen
/// (MPI_Comm_idup, sessions, Fortran) is built at its first collective, which is collective itself. MPI_COMM_NULL and
/// inactive jobs give null without any call.
Collectives* collectives_of(MPI_Comm communicator);

/// The state of `communicator` if it has been built; null otherwise.
const CommunicatorState* known_state(MPI_Comm communicator);

/// The neighbours of this rank, for a communicator with collectives. Looked up at the first call, on all ranks.
const Neighborhood& neighborhood_of(MPI_Comm communicator);

/// To be called before the host does a collective of the communicator that ours had looked at, and after it has ended
/// that with an error: ranks of which one has had more such calls than the others are not in step. Nothing if ours has no
/// part in `communicator`.
void given_to_host(MPI_Comm communicator);
void refused_by_host(MPI_Comm communicator);

/// The program has revoked the communicator (fault tolerance, MPIX_Comm_revoke): its collectives are the host's, which
/// fails them, on this rank from now on, and on the others as soon as they look.
void revoke(MPI_Comm communicator);

/// Whether a call of this rank has ended because some rank has revoked the communicator; remembers it.
bool found_revoked(MPI_Comm communicator);

}  // namespace tutti::mpi
