#include "mpi/requests/requests.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/wait/host_turns.h"

namespace tutti::mpi {

namespace {

Requests& make_requests() {
  static Requests& made = *new Requests;  // never destroyed: MPI may be called at the very end of the process
  return made;
}

}  // namespace

Requests& requests = make_requests();

namespace {

/// What a thread of the program may do.
constexpr Request::Allowed everything{.operators = true, .messages = true};

/// This thread is driving, and has the lock.
constinit thread_local bool driving = false;

/// While it lives, unless this thread is driving already, or another one is that is not waited for.
class Driving {
 public:
  enum class How { waits, tries };

  Driving(DrivingLock& lock, How how) : lock_(lock) {
    if (driving) return;
    if (how == How::waits)
      lock.lock();
    else if (!lock.try_lock())
      return;
    has_begun_ = driving = true;
  }
  ~Driving() {
    if (!has_begun_) return;
    driving = false;
    lock_.unlock();
  }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  bool has_begun() const { return has_begun_; }

 private:
  DrivingLock& lock_;
  bool has_begun_ = false;
};

}  // namespace

int Requests::start(std::unique_ptr<Request> request, MPI_Request* handle) {
  Request& started = *request;
  if (const int code = keep(std::move(request), handle); code != MPI_SUCCESS) return code;
  try {
    launch(started);
  } catch (...) {
    forget(started);
    *handle = MPI_REQUEST_NULL;
    throw;
  }
  return MPI_SUCCESS;
}

int Requests::keep(std::unique_ptr<Request> request, MPI_Request* handle) {
  if (const int code = handles_.take(*request, request->handle_); code != MPI_SUCCESS) return code;
  *handle = request.release()->handle_->request;
  return MPI_SUCCESS;
}

void Requests::start_again(Request& request) {
  request.prepare();
  launch(request);
}

void Requests::launch(Request& request) {
  // Many may be started before one is waited for.
  constexpr std::size_t starts_between_drives = 8;
  if (under_way_.load(std::memory_order_relaxed) % starts_between_drives == starts_between_drives - 1) drive();
  RequestList& calls = request.calls();
  const bool needs_driving = request.needs_driving();
  bool over = false;
  {
    // An operator of the program that is being run under the lock has no business here, but must not stop us either.
    const Driving now(lock_, Driving::How::waits);
    // Nothing fails any more once it has started.
    if (calls.empty() && active_.size() == active_.capacity()) active_.reserve(2 * active_.size() + 8);
    request.call_->start();
    request.step(Step::started);
    // Copying here would be time that the rank has for its computation.
    const bool left_to_thread = progress_thread_is_at_work() && request.may_go_on(allowed_to_progress_thread());
    over = !left_to_thread && request.goes_on(everything);
    if (!over) {
      if (calls.empty()) active_.push_back(&calls);
      calls.add(request);
      // Whoever stops for want of calls looks once more after that, and who starts one looks whether they go on.
      under_way_.store(under_way_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if (needs_driving)
        need_driving_.exchange(need_driving_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    }
  }
  if (over) {
    finish(request);
  } else if (needs_driving) {
    hook_host();
    wake_progress_thread();
  }
}

void Requests::drive_all() {
  RequestList over;
  {
    const Driving now(lock_, Driving::How::tries);
    if (!now.has_begun()) return;
    count_drive();
    pass(everything, over);
    over.append(over_);
    under_way_.store(under_way_.load(std::memory_order_relaxed) - over.size(), std::memory_order_relaxed);
  }
  finish_each(over);
}

bool Requests::drive_only(const Request::Allowed& allowed) {
  const Driving now(lock_, Driving::How::tries);
  if (!now.has_begun()) return true;
  if (allowed.operators) count_drive();
  pass(allowed, over_);
  return !active_.empty();
}

void Requests::pass(const Request::Allowed& allowed, RequestList& over) {
  // Peers may have asked for memory of this rank's that they cannot reach.
  constexpr std::uint64_t passes_between_services = 64;
  if (++passes_ % passes_between_services == 0) job()->node.requests->serve();
  for (std::size_t i = active_.size(); i-- > 0;) {
    RequestList& calls = *active_[i];
    // More than the ring has slots for cannot have begun.
    std::uint64_t looked_at = 0;
    for (Request* request = calls.first(); request && looked_at < ring_slots; ++looked_at) {
      Request* const next = request->next_;
      if (request->goes_on(allowed)) {
        calls.remove(*request);
        over.add(*request);
        if (request->needs_driving())
          need_driving_.store(need_driving_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        ended_.store(ended() + 1, std::memory_order_relaxed);
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
  const Handle& handle = *request.handle_;
  // From then on the program may start it again, or free it.
  const State before = request.step(Step::over);
  if (before == State::shown || before == State::shown_abandoned) handle.complete();
  if (before == State::abandoned || before == State::shown_abandoned) forget(request);
}

void Requests::give_host_a_turn() const {
  int complete = 0;
  host.Request_get_status(job()->host_turn, &complete, MPI_STATUS_IGNORE);
}

void Requests::asked_in_vain() const {
  give_host_a_turn();
  if (job()->node.waiter->shares_processor) sched_yield();
}

void Requests::show(Request& request) {
  // Several threads may ask about one request, as long as none of them completes it.
  const std::lock_guard lock(showing_);
  const State now = request.state();
  if (now != State::open && now != State::complete) return;
  request.handle_->start();
  if (request.step(Step::to_show) == State::complete) request.handle_->complete();
}

void Requests::conclude(Request& request) {
  const State before = request.step(Step::told);
  // Another thread may be about to complete it.
  if (before == State::shown_complete) request.handle_->wait();
  if (!request.is_persistent()) forget(request);
  host_turns.after_call();
}

void Requests::free(Request& request) {
  const State before = request.step(Step::freed);
  // What is under way may be gone by now.
  if (before != State::open && before != State::shown) forget(request);
}

void Requests::forget(Request& request) {
  Handle& handle = *request.handle_;
  const State last = request.state();
  if (last == State::shown_complete || last == State::shown_abandoned) handle.wait();
  if (request.is_persistent()) forgotten_.fetch_add(1, std::memory_order_release);
  delete &request;
  handles_.give_back(handle);
}

bool Requests::may_have(const Matching& message) {
  const Driving now(lock_, Driving::How::waits);
  return std::any_of(active_.begin(), active_.end(), [&](const RequestList* each) {
    const MessageCall* const call = each->first()->message_;
    return call && call->may_have(message);
  });
}

void Requests::wait_for(const Request& request) {
  if (!request.is_open()) return;
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
    const std::lock_guard lock(lock_);
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
