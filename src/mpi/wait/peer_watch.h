// Notices ranks of the node that end before their time, and says so before the launcher ends the others.
//
// Two ways. A rank that waits in a collective looks now and then whether a peer is gone (process descriptors), and names
// the collective. And each rank has a thread that sleeps until its neighbour ends: a launcher that ends all ranks as soon
// as one is gone leaves those that wait no time to look. What becomes of the job, and its status, is the launcher's
// business; only if nothing happens for some seconds, the job is ended here. See docs/decisions/naming-the-dead.md.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "sync/waiter.h"

namespace tutti::mpi {

/// Of each rank, in its arena. Zero before use.
struct alignas(sync::line_bytes) LifeLine {
  pthread_mutex_t held;               ///< robust; the rank's thread holds it while the process lives
  std::atomic<std::uint32_t> ready;   ///< `held` is held
  std::atomic<std::uint32_t> leaves;  ///< the rank is about to end (`alone`), or to end the job: nothing to tell
  std::atomic<std::uint32_t> told;    ///< on the first rank of the node: what has been said of the job's end

  enum Leaves : std::uint32_t { stays, alone, with_job };
  /// That somebody has ended; who waits for that one; why a rank ends the job.
  enum Told : std::uint32_t { nothing, end, wait, reason };
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
  /// To be called now and then in a wait: says so if the peer that is waited for has ended, and ends the job some seconds
  /// later, if it is still waited for and the launcher has not ended us.
  void check(const sync::WaitReason& reason);
  int world_rank(int node_rank) const {
    return node_rank >= 0 ? members_[static_cast<std::size_t>(node_rank)].world_rank : -1;
  }

  /// Gives the launcher the time to end the job, if a process of the node has ended or is about to; returns at once if not,
  /// or nearly so.
  static void wait_for_launcher();
  /// From now on the end of this process means nothing: at MPI_Finalize and exit(), and, with the job, at MPI_Abort.
  static void leave(LifeLine::Leaves how = LifeLine::alone);

 private:
  /// What is known of a member's process.
  struct Process {
    int descriptor = -1;                    ///< readable when it has ended; -1 if the kernel has no such thing
    std::atomic<std::int64_t> ended_at{0};  ///< when this rank noticed that, nanoseconds; 0: it has not
    std::atomic<bool> is_said{false};       ///< that this rank waits for it
  };

  static void* watch(void* self);
  void watch_neighbour() const;
  /// Notes which processes have ended.
  void take_notice();
  /// Whether the process is ending or has ended. False also if it has replaced itself by another program (exec).
  bool is_ending(std::size_t member) const;
  /// For a process of which a thread has ended: whether the whole of it has, at last.
  bool ends_now(std::size_t member) const;
  /// True for one rank of the node: what it has to say has not been said, nor has anything that says more.
  bool first_to_tell(LifeLine::Told what) const;

  std::vector<Member> members_;
  std::unique_ptr<Process[]> processes_;  ///< of the members
  std::size_t self_;
  const Log& log_;
  int epoll_ = -1;
};

}  // namespace tutti::mpi
