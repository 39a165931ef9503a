#include "mpi/requests/requests.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/requests/raised_error.h"

namespace tutti::mpi {

constinit thread_local RaisedError* raised_errors = nullptr;

namespace {

Requests& make_requests() {
  static Requests& made = *new Requests;  // never destroyed: MPI may be called at the very end of the process
  return made;
}

}  // namespace

Requests& requests = make_requests();

namespace {

/// This thread is driving, and has the lock.
constinit thread_local bool driving = false;

class Driving {
 public:
  Driving() { driving = true; }
  ~Driving() { driving = false; }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
};

// What the host asks of the handles. It asks for the status whenever the program does, and once more at the end.

/// Of no elements, and not cancelled.
MPI_Status make_empty_status() {
  MPI_Status status{};
  host.Status_set_elements(&status, MPI_BYTE, 0);
  host.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  return status;
}

int on_query(void* of, MPI_Status* status) {
  static const MPI_Status empty = make_empty_status();
  const auto& request = *static_cast<const Request*>(of);
  // Whose error is asked for is not known here: it stays.
  const int error = status->MPI_ERROR;
  *status = empty;
  status->MPI_ERROR = error;
  if (request.code() != MPI_SUCCESS) [[unlikely]]
    raised_errors = new RaisedError{request.handle(), request.code(), request.communicator_for_errors(), raised_errors};
  return MPI_SUCCESS;
}

int on_free(void* of) {
  requests.handle_is_gone(*static_cast<Request*>(of));
  return MPI_SUCCESS;
}

/// Collectives cannot be cancelled.
int on_cancel(void*, int) {
  return MPI_ERR_REQUEST;
}

}  // namespace

int Requests::start(std::unique_ptr<Request> owned, MPI_Request* handle) {
  Request& request = *owned;
  const int code = host.Grequest_start(on_query, on_free, on_cancel, &request, &request.handle_);
  if (code != MPI_SUCCESS) return code;
  static_cast<void>(owned.release());
  add(request, handle);
  launch(request);
  return MPI_SUCCESS;
}

int Requests::keep(std::unique_ptr<Request> owned, MPI_Request* handle) {
  const int code = messages_.receive(owned->message_, &owned->handle_);
  if (code != MPI_SUCCESS) return code;
  add(*owned.release(), handle);
  persistent_.fetch_add(1, std::memory_order_relaxed);
  return code;
}

void Requests::add(Request& request, MPI_Request* handle) {
  *handle = request.handle_;
  known_.add(key_of(request.handle_), &request);
  handles_.fetch_add(1, std::memory_order_relaxed);
}

void Requests::start_again(Request& request) {
  request.start_again();
  launch(request);
}

void Requests::show(Request& request) {
  if (!request.is_active_ || request.is_shown_) return;
  MPI_Request handle = request.handle_;
  host.Start(&handle);
  request.is_shown_ = true;
  auto before = Request::State::open;
  if (!request.state_.compare_exchange_strong(before, Request::State::shown, std::memory_order_acq_rel))
    SelfMessages::send(request.message_);
}

void Requests::launch(Request& request) {
  // Many may be started before one is waited for.
  constexpr std::size_t starts_between_drives = 8;
  if (under_way_.fetch_add(1, std::memory_order_seq_cst) % starts_between_drives == starts_between_drives - 1) drive();
  RequestList& calls = request.calls();
  bool over = false;
  {
    // An operator of the program that is being run under the lock has no business here, but must not stop us either.
    std::unique_lock lock(mutex_, std::defer_lock);
    std::optional<Driving> now;
    if (!driving) {
      lock.lock();
      now.emplace();
    }
    request.call_->start();
    over = request.goes_on(true);
    if (!over) {
      if (calls.empty()) active_.push_back(&calls);
      calls.add(request);
    }
  }
  if (over) {
    finish(request);
  } else {
    hook_host();
    wake_progress_thread();
  }
}

void Requests::drive_all(bool inside_host) {
  RequestList over;
  {
    if (driving) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    const Driving now;
    drives_.store(drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    pass(true, over);
    over.append(over_);
    for (Request* request = over.first(); inside_host && request;) {
      Request* const next = request->next_;
      if (request->is_persistent()) {
        over.remove(*request);
        over_.add(*request);
      }
      request = next;
    }
  }
  finish_each(over);
}

bool Requests::drive_without_host() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return true;
  const Driving now;
  pass(false, over_);
  return !active_.empty();
}

void Requests::pass(bool may_call_host, RequestList& over) {
  // Peers may have asked for memory of this rank's that they cannot reach.
  constexpr std::uint64_t passes_between_services = 64;
  if (++passes_ % passes_between_services == 0) job()->node.requests->serve();
  for (std::size_t i = active_.size(); i-- > 0;) {
    RequestList& calls = *active_[i];
    // More than the ring has slots for cannot have begun.
    std::uint64_t looked_at = 0;
    for (Request* request = calls.first(); request && looked_at < ring_slots; ++looked_at) {
      Request* const next = request->next_;
      if (request->goes_on(may_call_host)) {
        calls.remove(*request);
        over.add(*request);
      }
      request = next;
    }
    if (!calls.empty()) continue;
    active_[i] = active_.back();
    active_.pop_back();
  }
}

void Requests::finish_each(RequestList& over) {
  while (Request* const request = over.first()) {
    over.remove(*request);
    finish(*request);
  }
}

void Requests::finish(Request& request) {
  request.finish();
  MPI_Request handle = request.handle_;
  // From then on the program may start a persistent one again, if the host does not know of it.
  const SelfMessage message = request.message_;
  const bool is_persistent = request.is_persistent();
  if (!is_persistent) host.Grequest_complete(handle);
  const Request::State before = request.state_.exchange(Request::State::complete, std::memory_order_acq_rel);
  const bool abandoned = before == Request::State::abandoned;
  if (is_persistent && (before == Request::State::shown || (abandoned && request.is_shown_)))
    SelfMessages::send(message);
  if (is_persistent && abandoned) forget(request);
  if (abandoned) host.Request_free(&handle);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  request.let_go();
}

void Requests::forget(Request& request) {
  persistent_.fetch_sub(1, std::memory_order_relaxed);
  forgotten_.fetch_add(1, std::memory_order_release);
  messages_.give_back(request.message_);
  handle_is_gone(request);
}

void Requests::tell(Request& request) {
  if (!request.is_active_) return;
  request.is_active_ = false;
  if (request.code_ != MPI_SUCCESS) [[unlikely]]
    raised_errors = new RaisedError{request.handle_, request.code_, request.communicator_for_errors(), raised_errors};
}

void Requests::handle_is_gone(Request& request) {
  known_.remove(key_of(request.handle_));
  handles_.fetch_sub(1, std::memory_order_relaxed);
  request.let_go();
}

bool Requests::abandon(Request& request) {
  auto before = request.state_.load(std::memory_order_relaxed);
  while (before != Request::State::complete)
    if (request.state_.compare_exchange_weak(before, Request::State::abandoned, std::memory_order_acq_rel)) return true;
  return false;
}

void Requests::wait_for(const Request& request) {
  if (request.is_complete()) return;
  drive();
  sync::WaitReason reason{request.collective(), nullptr, 0, request.peer()};
  sync::wait(*job()->node.waiter, reason, [&] {
    if (request.is_complete()) return true;
    drive();
    reason.peer = request.peer();
    return request.is_complete();
  });
}

void Requests::wait_for_all_of(const CommunicatorState& state) {
  const sync::WaitReason reason{"MPI_Comm_disconnect"};
  sync::wait(*job()->node.waiter, reason, [&] {
    drive();
    const std::lock_guard lock(mutex_);
    return std::none_of(active_.begin(), active_.end(),
                        [&](const RequestList* each) { return &each->first()->of_ == &state; });
  });
}

void Requests::finish_all() {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (under_way() && std::chrono::steady_clock::now() < patience) {
    drive();
    sched_yield();
  }
}

}  // namespace tutti::mpi
