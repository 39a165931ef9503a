#include "mpi/wait/end_job.h"

#include <unistd.h>

#include <cstdlib>

#include "mpi/communicators.h"
#include "mpi/host.h"
#include "mpi/start/arena_header.h"
#include "mpi/wait/peer_watch.h"

namespace tutti::mpi {

void end_job(MPI_Comm communicator, const std::exception& problem) {
  // The memory of a process that has ended cannot be read: then the launcher ends the job, in its own way.
  PeerWatch::wait_for_launcher();
  PeerWatch::leave(LifeLine::with_job);
  if (const Job* const here = job()) {
    const CommunicatorState* const state = known_state(communicator);
    auto& first = *reinterpret_cast<ArenaHeader*>(here->node.peers.front().arena);
    if (first.life.told.exchange(LifeLine::reason, std::memory_order_relaxed) != LifeLine::reason)
      here->node.log.error("rank %d in %s: %s; the job is ended", here->node.log.rank(),
                           state && state->communicator ? state->communicator->current_collective : "a collective",
                           problem.what());
  }
  // The launcher forwards the line, and may end itself at the abort before it has done so.
  usleep(200'000);
  host.Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void end_job_or_rethrow(MPI_Comm communicator) {
  try {
    throw;
  } catch (const Disagreement&) {
    throw;
  } catch (const network::Failure&) {
    throw;
  } catch (const std::exception& problem) {
    end_job(communicator, problem);
  }
}

}  // namespace tutti::mpi
