// The library's state of a communicator: hangs on an MPI attribute, found through a cache of those that the thread has
// used lately.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "collectives/collectives.h"
#include "mpi/arguments/neighborhood.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"
#include "mpi/requests/request_list.h"
#include "mpi/spanning_state.h"
#include "mpi/start/node_setup.h"

namespace tutti::mpi {

struct CommunicatorState;

/// Channels of a communicator's ranks for persistent calls (Apart) that stay when the calls are freed. Of all of them, in
/// the order in which they were made, each rank knows which ones its own calls have left. Now and then ranks tell each other:
/// what was free on all of them is taken one after the other by the next calls, which come in the same order on all ranks.
/// So most calls are made ready without waiting for anybody.
struct KeptApart {
  static constexpr std::size_t most = 32;  ///< a used one has up to some 150 KiB of memory on each rank
  std::vector<CommunicatorState*> all;     ///< the same on all ranks
  std::atomic<std::uint64_t> free{0};      ///< a bit each: no call of this rank has it
  std::uint64_t free_on_all = 0;           ///< as ranks have told each other last, without what was taken since
};

/// One communicator. If it is not ours everything goes to the host; `refusal` says why. If it is, it is a layout until
/// its first collective. If its ranks sit on several nodes, layout and communicator are those of this node's ranks.
struct CommunicatorState {
  std::unique_ptr<CommunicatorLayout> layout;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<SpanningState> spanning;  ///< of several nodes
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Neighborhood> neighborhood;  ///< looked up when first needed
  std::uint64_t identity = 0;                  ///< equal on its ranks; 0 if they have told each other nothing
  int rank = -1;                               ///< with identity: this one
  std::vector<int> node_ranks;                 ///< with identity: by rank; -1 on another node
  bool is_from_the_beginning = false;          ///< was built when the communicator was made, on all ranks
  bool revoked = false;                        ///< by the program, as the host is to tell it
  Refusal refusal = Refusal::arguments;
  RequestList calls;                     ///< nonblocking ones that are under way (mpi/requests/)
  std::vector<Communicator*> set_apart;  ///< for persistent ones, one each (Apart)
  KeptApart kept_apart;
  std::atomic<int> holders{1};     ///< the communicator, and each request of such a call
  std::atomic<bool> freed{false};  ///< the communicator is no more
  /// What it had then, if requests are left.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

  bool is_ours() const { return layout || communicator; }
  /// As far as is known.
  bool is_of_one_job() const { return is_ours() || refusal == Refusal::nodes || refusal == Refusal::memory; }
};

/// The job, or null before MPI_Init, after MPI_Finalize and where the library is inactive.
Job* job();
/// To be called inside the interposed MPI_Init and MPI_Finalize. What is left of the job goes inside the host's MPI_Finalize,
/// after the functions that the program has hung on MPI_COMM_SELF.
void start();
void stop();

/// A communicator was just made, on all its ranks: builds its state, so that its collectives need not. Nothing if
/// the call that made it failed, or for MPI_COMM_NULL. parent: has all its ranks, and all of the parent's have made that
/// call; MPI_COMM_NULL if there is none.
int made(int code, const MPI_Comm* communicator, MPI_Comm parent = MPI_COMM_NULL);
/// The same where its ranks may not wait for each other: its state is built at its first collective.
int being_made(int code, const MPI_Comm* communicator);

/// Whether all processes are of this job. Of the others, spawned or connected ones, each may be without the library. No
/// other rank is asked.
bool of_one_job(MPI_Comm communicator, int size);

/// While the host frees a communicator in this thread, its collectives are the host's: the functions that delete its
/// attributes may call some, and whether ours is still there then is not the same on all ranks.
class BeingFreed {
 public:
  explicit BeingFreed(MPI_Comm communicator);
  ~BeingFreed() { innermost = outer_; }
  BeingFreed(const BeingFreed&) = delete;
  BeingFreed& operator=(const BeingFreed&) = delete;

  static bool is(MPI_Comm communicator);

 private:
  static constinit thread_local const BeingFreed* innermost;
  MPI_Comm communicator_;
  const BeingFreed* outer_;  ///< whose delete functions free this one
};

/// The collectives of `communicator`; null if the host is to be called. The state of one that was made unseen
/// (MPI_Comm_idup, sessions) is built at its first collective, which is collective itself. MPI_COMM_NULL,
/// inactive jobs and communicators that are being freed give null without any call.
Collectives* collectives_of(MPI_Comm communicator);

/// The state of `communicator` if it has been built; null otherwise.
const CommunicatorState* known_state(MPI_Comm communicator);
/// The same with what collectives need; null also if the host is to be called. may_wait: for the other ranks, so that it is
/// built where it is not there.
CommunicatorState* state_to_start_on(MPI_Comm communicator, bool may_wait);

/// The state of `communicator` where both sides of a message between ranks of it find by themselves that it may be ours:
/// what is known was known from the beginning. Null if not.
CommunicatorState* state_for_messages(MPI_Comm communicator);

/// Keeps a state, and lets it go, which deletes it if it was kept by nobody else.
void hold(CommunicatorState& state);
void release(CommunicatorState& state);

/// Channels of the same ranks for one persistent call: it may be started in another order than others on each rank. Of its
/// state it has no more than the communicator and the list of calls. Inside a node they are kept for the next such call.
class Apart {
 public:
  /// Collective over `communicator`, whose state is `of`, with collectives. of: outlives this.
  Apart(MPI_Comm communicator, CommunicatorState& of);
  ~Apart();
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  /// False if some rank has no memory left for it, on all ranks alike.
  bool is_there() const { return state_->communicator != nullptr; }
  CommunicatorState& state() const { return *state_; }

 private:
  bool take_kept();

  CommunicatorState& of_;
  CommunicatorState* state_;
  std::size_t place_ = KeptApart::most;  ///< among those that are kept; KeptApart::most: it is not
};

/// The neighbours of this rank, for a communicator with collectives. Looked up at the first call, on all ranks.
const Neighborhood& neighborhood_of(MPI_Comm communicator);
/// The same without waiting for other ranks: null where they would have to be asked.
const Neighborhood* neighborhood_without_asking(MPI_Comm communicator, CommunicatorState& state);
/// A distributed graph was just made, or any communicator was duplicated, on all its ranks: looks the neighbours up, or takes
/// them from the parent. Returns the code of the call that made it.
int made_graph(int code, const MPI_Comm* communicator, MPI_Comm parent);
int made_duplicate(int code, const MPI_Comm* communicator, MPI_Comm parent);

/// To be called before the host does a collective of the communicator that ours had looked at, and after it has ended
/// that with an error: ranks of which one has had more such calls than the others are not in step. Nothing if ours has no
/// part in `communicator`.
void given_to_host(MPI_Comm communicator);
void refused_by_host(MPI_Comm communicator);

/// The network has failed in a collective of the communicator: on this node all of them end with an error from now on.
/// kind: network::Failure.
void network_failed(MPI_Comm communicator, int kind);
void network_failed(CommunicatorState& state, int kind);

/// With which error a call ends whose ranks have left it: the network has failed for a rank of this node, or they were in
/// different calls.
int error_after_leaving(MPI_Comm communicator);
int error_after_leaving(const CommunicatorState& state);

/// The program has revoked the communicator (fault tolerance, MPIX_Comm_revoke): its collectives are the host's, which
/// fails them, on this rank from now on, and on the others as soon as they look.
void revoke(MPI_Comm communicator);

/// Whether a call of this rank has ended because some rank has revoked the communicator; remembers it.
bool found_revoked(MPI_Comm communicator);

}  // namespace tutti::mpi
