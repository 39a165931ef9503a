// The nonblocking and persistent collectives of this process that are under way, and how they go on: driven by every call
// of the program that comes by us, by the host where it can be hooked (host_hook.h), and else by a thread of ours
// (progress_thread.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/requests/handle_table.h"
#include "mpi/requests/request.h"
#include "mpi/requests/request_list.h"

namespace tutti::mpi {

/// A process has one. A lock guards what is under way. Who drives does not wait for it: another thread is driving then.
class Requests {
 public:
  /// Whether the program has handles of ours: all that programs without pay for in Wait and Test.
  bool any() const { return handles_.load(std::memory_order_relaxed) != 0; }
  bool under_way() const { return under_way_.load(std::memory_order_seq_cst) != 0; }

  /// Inside MPI_Init: whether threads of the program may call MPI at the same time.
  void set_up(bool among_threads) { known_.share(among_threads); }
  /// Starts what `request` has been set to and gives the program its handle. Returns a code of the host.
  int start(std::unique_ptr<Request> request, MPI_Request* handle);
  /// Gives the program the handle of a persistent one. Returns a code of the host.
  int keep(std::unique_ptr<Request> request, MPI_Request* handle);
  /// Starts it.
  void start_again(Request& request);
  /// The host is about to look at the handle of a persistent one: if it is active, the host has to find it so.
  void show(Request& request);
  /// The program frees its handle, which is not under way: the host is to free it now.
  void forget(Request& request);
  /// Does what can be done for all without waiting, on a thread of the program.
  void drive() {
    if (under_way()) drive_all(false);
  }
  /// The same out of the host's own progress, where it cannot be asked to send.
  void drive_inside_host() {
    if (under_way()) drive_all(true);
  }
  /// The same on a thread that must not call the host. False if that has nothing more to do.
  bool drive_without_host();
  /// How often threads of the program have driven.
  std::uint64_t drives() const { return drives_.load(std::memory_order_relaxed); }

  /// Null if the handle is none of ours.
  Request* find(MPI_Request handle) { return known_.find(key_of(handle)); }
  void wait_for(const Request& request);
  /// For what has been started on a communicator.
  void wait_for_all_of(const CommunicatorState& state);
  /// The program frees the handle of a call that is under way; the call goes on. False if it is not under way.
  bool abandon(Request& request);
  /// Whether the program has handles of persistent ones.
  bool any_persistent() const { return persistent_.load(std::memory_order_relaxed) != 0; }
  /// Null if the handle is none of those.
  Request* find_persistent(MPI_Request handle) {
    Request* const found = any_persistent() ? find(handle) : nullptr;
    return found && found->is_persistent() ? found : nullptr;
  }
  /// How often such a handle was freed: until that changes, what find_persistent() has found is there.
  std::uint64_t forgotten() const { return forgotten_.load(std::memory_order_acquire); }
  /// The program is told that it is complete. Its error is among the raised ones from now on.
  void tell(Request& request);
  /// Inside MPI_Finalize: what was abandoned ends, since peers may need it.
  void finish_all();
  void end() { messages_.end(); }

  /// The host has freed the handle.
  void handle_is_gone(Request& request);

 private:
  void add(Request& request, MPI_Request* handle);
  void launch(Request& request);
  void drive_all(bool inside_host);
  /// Under the lock: all go on as far as they can. What is over by that comes to `over`.
  void pass(bool may_call_host, RequestList& over);
  void finish_each(RequestList& over);
  void finish(Request& request);

  std::mutex mutex_;
  std::vector<RequestList*> active_;  ///< those with calls under way
  RequestList over_;  ///< what was not finished yet, for want of a thread that may call the host, or send
  HandleTable<Request> known_;
  SelfMessages messages_;
  std::atomic<std::size_t> persistent_{0};
  std::atomic<std::uint64_t> forgotten_{0};
  std::atomic<std::size_t> handles_{0};
  std::atomic<std::size_t> under_way_{0};
  std::atomic<std::uint64_t> drives_{0};
  std::uint64_t passes_ = 0;
};

extern Requests& requests;

}  // namespace tutti::mpi
