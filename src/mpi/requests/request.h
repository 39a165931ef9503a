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
#include "mpi/requests/matching.h"
#include "mpi/requests/request_list.h"

namespace tutti::mpi {

class MessageCall;

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
    is_persistent_ = true;
    return apart_.emplace(communicator_, of_).is_there();
  }
  /// It is to be a message, which needs no channel. In memory of this. what: for reports. peer: node rank of the other side;
  /// -1 if that is not known.
  void carry(MessageCall& call, const char* what, int peer, bool is_persistent) {
    is_persistent_ = is_persistent;
    message_ = &call;
    collective_ = what;
    peer_.store(peer, std::memory_order_relaxed);
  }
  bool is_persistent() const { return is_persistent_; }
  /// Null for collectives.
  MessageCall* message() const { return message_; }
  /// Whether it has to go on while its rank computes, or waits in the host.
  bool needs_driving() const;
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
  /// Memory for what is destroyed by who makes it there, or needs not be. What is beyond room_bytes in all is gone once it is
  /// over, unless it is persistent.
  static constexpr std::size_t room_bytes = 1408;
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
    after_.keep_in(*this, std::move(after));
  }

  /// What is wrong already.
  void set_code(int code) { code_ = code; }
  /// Of a persistent one: what is to be done at each start, on a thread of the program, before the core does its part:
  /// before() returns a code of the host.
  template <class Before>
  void set_before(Before before) {
    before_.keep_in(*this, std::move(before));
  }
  /// Of a persistent one: the core's part is made anew at each start, by make(memory) in the memory of the one before.
  template <class Make>
  void set_remake(Make make) {
    remake_.keep_in(*this, std::move(make));
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

  /// It was started, and the program was not told yet that it is complete.
  bool is_active() const { return state() != State::inactive; }
  /// It is under way.
  bool is_open() const {
    const State now = state();
    return now == State::open || now == State::shown;
  }
  /// It is over, and nobody but who has its handle touches it.
  bool is_complete() const {
    const State now = state();
    return now == State::complete || now == State::shown_complete;
  }

  MPI_Comm communicator() const { return communicator_; }
  /// What the program has of it.
  MPI_Request handle() const { return handle_->request; }
  /// Which peer is waited for: its rank in the node, -1 if that is not known.
  int peer() const { return peer_.load(std::memory_order_relaxed); }
  const char* collective() const { return collective_; }
  /// What the program is to be told, once it is complete, and what its operator has thrown.
  int code() const { return code_; }
  const std::exception_ptr& thrown() const { return thrown_; }
  /// Where errors are to be raised: also once the communicator is freed, by the error handler that it had.
  MPI_Comm communicator_for_errors() const;

 private:
  friend class Requests;
  friend class RequestList;
  friend class TeamThread;

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
  template <class Signature>
  class KeptFunction;
  /// A function object that is kept; false if there is none.
  template <class Result, class... Given>
  class KeptFunction<Result(Given...)> {
   public:
    template <class Function>
    void keep_in(Request& request, Function function) {
      object_ = &request.keep<Function>(std::move(function));
      call_ = [](void* object, Given... given) { return (*static_cast<Function*>(object))(given...); };
    }
    explicit operator bool() const { return object_ != nullptr; }
    Result operator()(Given... given) const { return call_(object_, given...); }

   private:
    void* object_ = nullptr;
    Result (*call_)(void*, Given...) = nullptr;
  };

  // The life of a request. Only where the host had to look at its handle while it was active, the host's request is active, too,
  // and has to be completed: then it is `shown`.
  //
  //   inactive --started--> open -----to_show----> shown
  //                          | over                 | over
  //                          v                      v
  //                       complete ---to_show--> shown_complete
  //                          | told                 | told, and the host's request is awaited
  //                          v                      v
  //                       inactive again if it is persistent, and gone otherwise
  //
  // When its handle is freed it is gone, unless it is under way: then it is abandoned, or shown_abandoned, and gone when it is over.
  //
  // Every step is taken by step(). started, told and freed: by the thread of the program that has the handle, never two of them
  // at once. to_show: by any thread that asks about the request, one at a time. over: by any thread that drives, at the same
  // time as to_show or freed. Who takes the later one of over and to_show completes the host's request.
  enum class State { inactive, open, shown, complete, shown_complete, abandoned, shown_abandoned };
  enum class Step { started, to_show, over, told, freed };

  static State after(State before, Step step);
  /// Returns the state before it. Release: who finds it complete sees what the call has left. Acquire: who is the later one of
  /// two steps sees what the first one has done, which is the start of the host's request or the end of the call.
  State step(Step step) {
    State before = state_.load(std::memory_order_relaxed);
    while (!state_.compare_exchange_weak(before, after(before, step), std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
    }
    return before;
  }
  State state() const { return state_.load(std::memory_order_acquire); }
  CommunicatorState& runs_on() const { return apart_ ? apart_->state() : of_; }
  /// Among which it goes on: where there may be others, only the first of them can.
  RequestList& calls() { return message_ ? alone_ : runs_on().calls; }
  void set_up(PendingCall& call, bool too_long);
  void give_back();
  /// Of a persistent one that is inactive: what comes before its start.
  void prepare();
  bool may_go_on(const Allowed& allowed) const;
  /// Does what can be done without waiting; true once the core has done its part.
  bool goes_on(const Allowed& allowed);
  /// What is left to do after that.
  void finish();

  MPI_Comm communicator_;
  CommunicatorState& of_;
  std::optional<Apart> apart_;
  MessageCall* message_ = nullptr;
  RequestList alone_;
  const char* collective_;
  PendingCall* call_ = nullptr;
  AnyKept* kept_ = nullptr;
  KeptHandles handles_;
  KeptFunction<int(int)> after_;
  KeptFunction<int()> before_;
  KeptFunction<PendingCall*(void*)> remake_;
  LastCall last_call_;
  explain::Counted counted_;
  Handle* handle_ = nullptr;
  int code_ = MPI_SUCCESS;
  std::exception_ptr thrown_;
  bool too_long_ = false;
  bool runs_operators_ = false;
  bool is_persistent_ = false;
  /// Why it has ended before its time, if it has: ranks turned out to be in different calls, or the network has failed.
  int ended_by_ = MPI_SUCCESS;
  std::atomic<int> peer_{-1};
  std::atomic<State> state_{State::inactive};
  Request* next_ = nullptr;  ///< in the list in which it is
  Request* previous_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> more_;
  /// For the call and what it keeps: enough for one without lists.
  alignas(std::max_align_t) std::byte room_[room_bytes];
};

}  // namespace tutti::mpi
