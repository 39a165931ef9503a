// A nonblocking or persistent collective of ours: what belongs to it, and its handle, which is a request of the host
// (docs/decisions/nonblocking.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/pending_call.h"
#include "mpi/communicators.h"
#include "mpi/host.h"
#include "mpi/report/explain.h"
#include "mpi/report/last_call.h"
#include "mpi/requests/handles.h"
#include "mpi/requests/kept_handles.h"
#include "mpi/requests/request_list.h"

namespace tutti::mpi {

class PartitionedCall;

class Request {
 public:
  /// state: of the communicator. It lives as long as this, also if the program frees that.
  Request(MPI_Comm communicator, CommunicatorState& state);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Threads keep the memory of some for the next ones.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory);

  /// It is to be a persistent one. Collective over the communicator. False if there is no memory for that, on all ranks
  /// alike.
  bool persist() {
    state_.store(State::complete, std::memory_order_relaxed);
    is_active_ = false;
    is_persistent_ = true;
    return apart_.emplace(communicator_, of_).is_there();
  }
  /// It is to be one side of a partitioned message, which needs no channel. In memory of this. function: which makes it.
  /// peer: node rank of the other side.
  void persist_as(PartitionedCall& call, const char* function, int peer) {
    state_.store(State::complete, std::memory_order_relaxed);
    is_active_ = false;
    is_persistent_ = true;
    partitioned_ = &call;
    collective_ = function;
    peer_.store(peer, std::memory_order_relaxed);
  }
  bool is_persistent() const { return is_persistent_; }
  /// What it is one side of; null for collectives.
  PartitionedCall* partitioned() const { return partitioned_; }
  /// Through whose channels it goes.
  Collectives::Through through() const {
    return {*runs_on().communicator, runs_on().spanning ? &runs_on().spanning->of_pending_calls() : nullptr};
  }

  // What the call needs. It is given back when the call is over or, if it is persistent, when its handle is freed.

  /// An object that its arguments point to.
  template <class Kept, class... Arguments>
  Kept& keep(Arguments&&... arguments) {
    auto* const made = new (allocate(sizeof(KeptAs<Kept>))) KeptAs<Kept>(std::forward<Arguments>(arguments)...);
    made->next = kept_;
    kept_ = made;
    return made->object;
  }
  /// Memory for what is destroyed by who makes it there, or needs not be.
  void* allocate(std::size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
    if (used_ + bytes > sizeof room_) [[unlikely]]
      return more_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
    return room_ + std::exchange(used_, used_ + bytes);
  }
  /// Types and operators of the program.
  KeptHandles& handles() { return handles_; }
  /// To go on it calls the host: operators of the program.
  void runs_operators() { runs_operators_ = true; }
  /// What who drives may do of what calls the host: run operators of the program, and post and test messages.
  struct Allowed {
    bool operators, messages;
  };

  /// What there is to do, in memory of this, and what comes after that on a thread of the program: after(code) returns the
  /// code of the whole call. too_long: this rank has sent itself more than it has room for.
  template <class After>
  void set(PendingCall& call, After after, bool too_long) {
    set_up(call, too_long);
    after_ = &keep<After>(std::move(after));
    finish_ = [](void* kept, int before) { return (*static_cast<After*>(kept))(before); };
  }

  /// What is wrong already.
  void set_code(int code) { code_ = code; }
  /// Of a persistent one: what is to be done at each start, on a thread of the program, before the core does its part:
  /// before() returns a code of the host.
  template <class Before>
  void set_before(Before before) {
    before_ = &keep<Before>(std::move(before));
    prepare_ = [](void* kept) { return (*static_cast<Before*>(kept))(); };
  }
  /// Of a persistent one: the core's part is made anew at each start, by make(memory) in the memory of the one before.
  template <class Make>
  void set_remake(Make make) {
    make_ = &keep<Make>(std::move(make));
    remake_ = [](void* kept, void* memory) { return (*static_cast<Make*>(kept))(memory); };
  }
  /// What is told of each start.
  void set_report(const explain::Counted& counted) {
    last_call_ = last_call;
    counted_ = counted;
  }
  void report(std::uint64_t ticks) const {
    last_call = last_call_;
    if (counted_.record) explain::count(counted_, last_call, ticks);
  }

  /// It was started, and the program was not told yet that it is complete. The host's request is active only if the host had to
  /// look at it meanwhile: then it is shown.
  bool is_active() const { return is_active_; }
  bool is_shown() const { return is_shown_; }

  MPI_Comm communicator() const { return communicator_; }
  /// Which peer is waited for: its rank in the node, -1 if that is not known.
  int peer() const { return peer_.load(std::memory_order_relaxed); }
  const char* collective() const { return collective_; }
  /// It is over, and nobody but who has its handle touches it.
  bool is_complete() const { return state_.load(std::memory_order_acquire) == State::complete; }
  /// What the program is to be told, once it is complete, and what its operator has thrown.
  int code() const { return code_; }
  const std::exception_ptr& thrown() const { return thrown_; }
  /// Where errors are to be raised: also once the communicator is freed, by the error handler that it had.
  MPI_Comm communicator_for_errors() const;

 private:
  friend class Requests;
  friend class RequestList;

  struct AnyKept {
    virtual ~AnyKept() = default;
    AnyKept* next = nullptr;
  };
  template <class Kept>
  struct KeptAs final : AnyKept {
    template <class... Arguments>
    explicit KeptAs(Arguments&&... arguments) : object(std::forward<Arguments>(arguments)...) {}
    Kept object;
  };
  enum class State { open, shown, complete, abandoned };

  CommunicatorState& runs_on() const { return apart_ ? apart_->state() : of_; }
  /// Among which it goes on: where there may be others, only the first of them can.
  RequestList& calls() { return partitioned_ ? alone_ : runs_on().calls; }
  void set_up(PendingCall& call, bool too_long);
  void give_back();
  /// Of a persistent one that is not under way.
  void start_again();
  /// It could not be started after all.
  void stay_inactive() {
    is_active_ = false;
    state_.store(State::complete, std::memory_order_relaxed);
  }
  bool may_go_on(const Allowed& allowed) const;
  /// Does what can be done without waiting; true once the core has done its part.
  bool goes_on(const Allowed& allowed);
  /// What is left to do after that.
  void finish();
  /// It is complete: its handle becomes inactive. Another thread may be about to complete that.
  void hide() {
    if (std::exchange(is_shown_, false)) handle_->wait();
  }

  MPI_Comm communicator_;
  CommunicatorState& of_;
  std::optional<Apart> apart_;
  PartitionedCall* partitioned_ = nullptr;
  RequestList alone_;
  const char* collective_;
  PendingCall* call_ = nullptr;
  AnyKept* kept_ = nullptr;
  KeptHandles handles_;
  void* after_ = nullptr;
  int (*finish_)(void*, int) = nullptr;
  void* before_ = nullptr;
  int (*prepare_)(void*) = nullptr;
  void* make_ = nullptr;
  PendingCall* (*remake_)(void*, void*) = nullptr;
  LastCall last_call_;
  explain::Counted counted_;
  Handle* handle_ = nullptr;
  bool is_active_ = true, is_shown_ = false;  ///< touched by the thread alone that starts it and completes it
  int code_ = MPI_SUCCESS;
  std::exception_ptr thrown_;
  bool too_long_ = false;
  bool runs_operators_ = false;
  bool is_persistent_ = false;
  /// Why it has ended before its time, if it has: ranks turned out to be in different calls, or the network has failed.
  int ended_by_ = MPI_SUCCESS;
  std::atomic<int> peer_{-1};
  std::atomic<State> state_{State::open};
  Request* next_ = nullptr;  ///< in the list in which it is
  Request* previous_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> more_;
  /// For the call and what it keeps: enough for one without lists.
  alignas(std::max_align_t) std::byte room_[1280];
};

}  // namespace tutti::mpi
