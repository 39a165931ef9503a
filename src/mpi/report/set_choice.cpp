// For the benchmark, which compares algorithms and mechanisms within one process, and for the fuzzer of tests/mpi.

#include "mpi/communicators.h"

/// From now on this communicator's collectives are chosen as if TUTTI_ALGORITHM and TUTTI_MECHANISM had been these;
/// only mechanisms that were there at start-up can be named. Collective over the communicator, with the same words on
/// all ranks, while no operation of the library is under way on the node. The mechanism is the node's: other
/// communicators must not be used until they have been set, too. Returns 0; otherwise, on all ranks alike, nothing has
/// changed: the communicator is the host's, or the mechanism is not available.
extern "C" __attribute__((visibility("default"))) int tutti_set_choice(MPI_Comm communicator, const char* algorithm,
                                                                       const char* mechanism) {
  using namespace tutti;
  Collectives* collectives = mpi::collectives_of(communicator);
  mpi::Job* job = mpi::job();
  if (!collectives || !job || !mpi::restrict_mechanisms(*job, mechanism)) return 1;
  const auto known = all_known_algorithms();
  collectives->choose_anew(selection::UserChoice::parse(algorithm, known, job->node.log));
  return 0;
}
