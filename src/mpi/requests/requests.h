// The nonblocking and persistent collectives of this process that are under way, and how they go on: driven by every call
// of the program that comes by us, by the host where it can be hooked (host_hook.h), and else by a thread of ours
// (progress_thread.h).
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/requests/handles.h"
#include "mpi/requests/request.h"
#include "mpi/requests/request_list.h"

namespace tutti::mpi {

/// The lock of what is under way: it is taken twice in each call, and hardly ever by two threads at once.
class DrivingLock {
 public:
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    while (!try_lock()) sched_yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// A process has one. A lock guards what is under way. Who drives does not wait for it: another thread is driving then.
class Requests {
 public:
  /// Whether the program has handles of ours: all that programs without pay for in Wait and Test.
  bool any() const { return handles_.any(); }
  bool under_way() const { return under_way_.load(std::memory_order_relaxed) != 0; }
  /// The same of those that have to go on while their rank computes, or waits in the host.
  bool need_driving() const { return need_driving_.load(std::memory_order_relaxed) != 0; }
  /// For who has just said, by a sequentially consistent store, that it drives no more: either it sees a call that is being
  /// started, or who starts that one sees what it has said.
  bool need_driving_after_all() const { return need_driving_.load(std::memory_order_seq_cst) != 0; }

  /// Inside MPI_Init. among_threads: threads of the program may call MPI at the same time.
  void set_up(bool among_threads) { handles_.set_up(among_threads); }
  /// Starts what `request` has been set to and gives the program its handle. Returns a code of the host.
  int start(std::unique_ptr<Request> request, MPI_Request* handle);
  /// Gives the program the handle of a persistent one. Returns a code of the host.
  int keep(std::unique_ptr<Request> request, MPI_Request* handle);
  /// Starts it.
  void start_again(Request& request);
  /// Does what can be done for all without waiting, on a thread of the program.
  void drive() {
    if (under_way()) drive_all();
  }
  /// The same on a thread that must not ask the host to go on: it is in its progress, or has nothing to do with it. What is over
  /// stays to be completed by a thread of the program. False if there is nothing more to do.
  bool drive_only(const Request::Allowed& allowed);
  /// The host does what it would have done in a function that does not ask it.
  void give_host_a_turn() const;
  /// The program has asked in vain and may ask again at once: the host does what it would have done then, and ranks that
  /// have the processor in common with this one get it.
  void asked_in_vain() const;
  /// How often threads have driven that may call the host.
  std::uint64_t drives() const { return drives_.load(std::memory_order_relaxed); }
  /// How many have ended, whoever drove.
  std::uint64_t ended() const { return ended_.load(std::memory_order_relaxed); }

  /// Null if the handle is none of ours.
  Request* find(MPI_Request handle) const { return handles_.find(handle); }
  /// Whether a receive that is under way at the host may have been matched with `message`.
  bool may_have(const Matching& message);
  void wait_for(const Request& request);
  /// For what has been started on a communicator.
  void wait_for_all_of(const CommunicatorState& state);
  /// How often handles of persistent ones were freed: until that changes, what find() has found of these is there.
  std::uint64_t forgotten() const { return forgotten_.load(std::memory_order_acquire); }
  /// The host is about to look at the handle: if the request is active, the host has to find it so.
  void show(Request& request);
  /// The program is told that it is complete. What is not persistent is gone.
  void conclude(Request& request);
  /// The program frees its handle. What is under way goes on.
  void free(Request& request);
  /// Inside MPI_Finalize: what was freed ends, since peers may need it.
  void finish_all();
  void end() { handles_.end(); }

 private:
  using State = Request::State;
  using Step = Request::Step;

  void launch(Request& request);
  void drive_all();
  void count_drive() { drives_.store(drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  /// Under the lock: all go on as far as they can. What is over by that comes to `over`.
  void pass(const Request::Allowed& allowed, RequestList& over);
  void finish_each(RequestList& over);
  void finish(Request& request);
  void forget(Request& request);

  DrivingLock lock_;
  std::vector<RequestList*> active_;  ///< those with calls under way
  RequestList over_;                  ///< what was not finished yet, for want of a thread that may call the host
  Handles handles_;
  std::mutex showing_;
  std::atomic<std::uint64_t> forgotten_{0};
  std::atomic<std::size_t> under_way_{0};     ///< what is in lists; written under the lock
  std::atomic<std::size_t> need_driving_{0};  ///< of these; written under the lock
  std::atomic<std::uint64_t> drives_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::uint64_t passes_ = 0;
};

extern Requests& requests;

}  // namespace tutti::mpi
