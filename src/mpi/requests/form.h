// The forms in which a program calls a collective. What a call is, in the words of MPI, is described once for all of them
// (mpi/functions/), by templates that are given the form: it keeps what the call needs as long as it needs it, and carries
// the call out or starts it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "mpi/communicators.h"
#include "mpi/report/explain.h"
#include "mpi/report/last_call.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/request.h"
#include "mpi/requests/requests.h"
#include "mpi/wait/end_job.h"

namespace tutti::mpi {

/// For reports: what this rank has sent, or received where it has sent nothing.
struct Shown {
  const void* buffer;
  std::size_t bytes;
};

/// For calls that have nothing to do before the core's part, or after it.
inline constexpr auto nothing_before = [] { return static_cast<int>(MPI_SUCCESS); };
inline constexpr auto nothing_after = [](int code) { return code; };

/// A blocking call is over, and this rank had less room than was sent to it.
struct TooLittleRoom {};

/// The call ends before the function returns. What it needs is on the stack.
class Blocking {
 public:
  static constexpr bool is_pending = false;

  /// code: of the call.
  explicit Blocking(int& code) : code_(code) {}

  static Collectives* collectives(MPI_Comm communicator) { return collectives_of(communicator); }
  static const Neighborhood* neighborhood(MPI_Comm communicator) { return &neighborhood_of(communicator); }
  /// No elements, or a negative number of them, which may be a mistake of this rank alone: the communicator's state is
  /// built, as on the others.
  template <class Count>
  static bool refuse_count(Count count, MPI_Comm communicator) {
    collectives_of(communicator);
    return refuse(count == 0 ? Refusal::nothing : Refusal::arguments);
  }
  /// To be held by a reference (auto&&): an object of the call's, or one that lasts longer.
  template <class Kept, class... Arguments>
  static Kept keep(Arguments&&... arguments) {
    return Kept(std::forward<Arguments>(arguments)...);
  }
  static void keep_type(MPI_Datatype) {}
  static void keep_type_to_send(MPI_Datatype) {}
  static bool runs_operator(MPI_Op) { return true; }
  /// A communicator that is there as long as the call.
  static MPI_Comm lasting(MPI_Comm communicator) { return communicator; }

  /// Carries the call out; false if the host is to. too_long: this rank has sent itself more than it has room for. before: what
  /// is to be done before the core does its part; returns a code of the host. after: what is to be done when it has, given
  /// the code, of which it returns the final one.
  template <class Arguments, class Before, class After>
  bool run(MPI_Comm communicator, Collectives& collectives, const Arguments& arguments, const Shown& shown,
           bool too_long, Before&& before, After&& after) {
    return carry_out(communicator, collectives, arguments, too_long, before, after, [&](const Collectives::Done& done) {
      remember(collectives, shown.buffer, shown.bytes, done.lends_copies);
    });
  }

 protected:
  /// The same; told: what is to be remembered of it.
  template <class Arguments, class Before, class After, class Told>
  bool carry_out(MPI_Comm communicator, Collectives& collectives, const Arguments& arguments, bool too_long,
                 Before&& before, After&& after, const Told& told) {
    const int code = before();
    const Collectives::Done done = without_return(communicator, [&] { return collectives.call(arguments); });
    if (!carried_out(done)) return false;
    told(done);
    code_ = after(code);
    if (done.truncated || too_long) [[unlikely]]
      throw TooLittleRoom();
    return true;
  }

 private:
  int& code_;
};

/// The call is started, and goes on behind the program's back.
class Nonblocking {
 public:
  static constexpr bool is_pending = true;

  /// What makes the call go on: whatever the rank does, also in the host, or what it waits in by us.
  enum class Driven { always, by_waits };
  /// state: of `communicator`, with collectives.
  Nonblocking(MPI_Comm communicator, CommunicatorState& state, Driven driven = Driven::always)
      : state_(state), request_(std::make_unique<Request>(communicator, state)), driven_(driven) {}

  Collectives* collectives(MPI_Comm) const { return state_.collectives.get(); }
  /// Null where the other ranks would have to be asked, who may not be there. It is the same on all of them.
  const Neighborhood* neighborhood(MPI_Comm communicator) const {
    return neighborhood_without_asking(communicator, state_);
  }
  template <class Count>
  static bool refuse_count(Count count, MPI_Comm) {
    return refuse(count == 0 ? Refusal::nothing : Refusal::arguments);
  }

  template <class Kept, class... Arguments>
  Kept& keep(Arguments&&... arguments) {
    return request_->keep<Kept>(std::forward<Arguments>(arguments)...);
  }
  void keep_type(MPI_Datatype datatype) { request_->handles().keep_type(datatype); }
  /// What is sent is packed at the start.
  static void keep_type_to_send(MPI_Datatype) {}
  /// False where nobody could run it while the rank waits in the host.
  bool runs_operator(MPI_Op operation) {
    if (driven_ == Driven::always && !host_can_be_hooked()) return refuse(Refusal::operation);
    request_->handles().keep_operator(operation);
    request_->runs_operators();
    return true;
  }
  /// The program may free its own one.
  static MPI_Comm lasting(MPI_Comm) { return MPI_COMM_SELF; }

  template <class Arguments, class Before, class After>
  bool run(MPI_Comm, Collectives& collectives, const Arguments& arguments, const Shown& shown, bool too_long,
           Before&& before, After&& after) {
    if (!prepare(collectives, arguments, shown, too_long, std::forward<After>(after))) return false;
    request_->set_code(before());
    return true;
  }
  /// Gives the program the handle of what was run. Returns a code of the host.
  int hand_over(MPI_Request* handle) { return requests.start(std::move(request_), handle); }

 protected:
  Request& request() { return *request_; }
  std::unique_ptr<Request> take_request() { return std::move(request_); }

  template <class Arguments, class After>
  bool prepare(Collectives& collectives, const Arguments& arguments, const Shown& shown, bool too_long, After&& after) {
    const auto allocate = [](void* request, std::size_t bytes) {
      return static_cast<Request*>(request)->allocate(bytes);
    };
    PendingCall* const call = collectives.prepare_in(arguments, request_->through(), allocate, request_.get());
    if (!carried_out(call != nullptr)) return false;
    remember(collectives, shown.buffer, shown.bytes);
    request_->set(*call, std::forward<After>(after), too_long);
    return true;
  }

 private:
  CommunicatorState& state_;
  std::unique_ptr<Request> request_;
  Driven driven_;
};

/// The call is made ready, and started by MPI_Start, again and again.
class Persistent : public Nonblocking {
 public:
  using Nonblocking::Nonblocking;

  /// Making it ready is collective.
  static const Neighborhood* neighborhood(MPI_Comm communicator) { return &neighborhood_of(communicator); }
  void keep_type_to_send(MPI_Datatype datatype) { keep_type(datatype); }

  template <class Arguments, class Before, class After>
  bool run(MPI_Comm communicator, Collectives& collectives, const Arguments& arguments, const Shown& shown,
           bool too_long, Before&& before, After&& after) {
    if (!without_return(communicator, [&] { return request().persist(); })) return refuse(Refusal::memory);
    if (!prepare(collectives, arguments, shown, too_long, std::forward<After>(after))) return false;
    request().set_before(std::forward<Before>(before));
    const bool is_naive = job()->node.settings.persistent == "naive";
    request().set_report({collectives.take_last_record(is_naive ? "arguments" : "plan"), collectives.last_bytes()});
    if (is_naive)
      request().set_remake([arguments, &collectives, through = request().through()](void* memory) {
        return collectives.prepare_in(
            arguments, through, [](void* same, std::size_t) { return same; }, memory);
      });
    return true;
  }
  int hand_over(MPI_Request* handle) { return requests.keep(take_request(), handle); }
};

}  // namespace tutti::mpi
