// Notices ranks of the node that die, and says so before the launcher ends the others.
//
// Two ways. A rank that waits in a collective looks now and then whether a peer is gone (process descriptors), names
// the collective and ends the job. And each rank has a thread that sleeps until its neighbour dies: a launcher that
// ends all ranks as soon as one is gone leaves those that wait no time to look. See docs/decisions/naming-the-dead.md.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/log.h"
#include "sync/waiter.h"

namespace tutti::mpi {

/// Of each rank, in its arena. Zero before use.
struct alignas(sync::line_bytes) LifeLine {
  pthread_mutex_t held;               ///< robust; the rank's thread holds it while the process lives
  std::atomic<std::uint32_t> ready;   ///< `held` is held
  std::atomic<std::uint32_t> leaves;  ///< the rank is about to end, or to end the job: nothing to tell
  std::atomic<std::uint32_t> told;    ///< on the first rank of the node: what has been said of the job's end

  enum Told : std::uint32_t { nothing, death, reason };  ///< that somebody has died; why a rank ends the job
};

class PeerWatch {
 public:
  /// A rank of the node.
  struct Member {
    int world_rank = 0;
    pid_t process = 0;
    LifeLine* life = nullptr;
  };
  /// Lives until the process ends. log: of this rank.
  PeerWatch(std::vector<Member> members, int self, const Log& log);

  /// Starts the thread. Without it only those notice that wait.
  void start();
  /// Ends the job if a peer has died while we wait.
  void check(const sync::WaitReason& reason) const;
  int world_rank(int node_rank) const {
    return node_rank >= 0 ? members_[static_cast<std::size_t>(node_rank)].world_rank : -1;
  }

  /// From now on the end of this process means nothing: at MPI_Finalize, MPI_Abort and exit().
  static void leave();

 private:
  static void* watch(void* self);
  void watch_neighbour() const;

  std::vector<Member> members_;
  std::size_t self_;
  const Log& log_;
  int epoll_ = -1;
};

}  // namespace tutti::mpi
