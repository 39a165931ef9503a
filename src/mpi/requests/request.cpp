#include "mpi/requests/request.h"

#include "engine/operation.h"
#include "mpi/errors.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/wait/end_job.h"

namespace tutti::mpi {

namespace {

struct Unused {
  Unused* next;
};
struct UnusedList {
  Unused* first;
  int count;
};
constinit thread_local UnusedList unused{nullptr, 0};

struct AtThreadExit {
  ~AtThreadExit() {
    while (unused.first) ::operator delete(std::exchange(unused.first, unused.first->next));
  }
};

}  // namespace

Request::Request(MPI_Comm communicator, CommunicatorState& state)
    : communicator_(communicator), of_(state), collective_("") {
  hold(of_);
}

Request::~Request() {
  give_back();
  apart_.reset();
  release(of_);
}

void Request::give_back() {
  if (call_) std::exchange(call_, nullptr)->~PendingCall();
  while (kept_) {
    AnyKept* const last = std::exchange(kept_, kept_->next);
    last->~AnyKept();
  }
  more_.clear();
  handles_.give_back();
}

void* Request::operator new(std::size_t bytes) {
  if (!unused.first) return ::operator new(bytes);
  --unused.count;
  return std::exchange(unused.first, unused.first->next);
}

void Request::operator delete(void* memory) {
  constexpr int most = 64;
  if (unused.count == most) return ::operator delete(memory);
  static thread_local const AtThreadExit at_thread_exit;
  ++unused.count;
  unused.first = new (memory) Unused{unused.first};
}

MPI_Comm Request::communicator_for_errors() const {
  if (!of_.freed.load(std::memory_order_acquire)) return communicator_;
  if (!handle_ || of_.handler == MPI_ERRHANDLER_NULL) return MPI_COMM_WORLD;
  host.Comm_set_errhandler(handle_->communicator, of_.handler);
  return handle_->communicator;
}

void Request::set_up(PendingCall& call, bool too_long) {
  call_ = &call;
  if (!message_) collective_ = of_.communicator->current_collective;
  too_long_ = too_long;
}

bool Request::needs_driving() const {
  return !message_ || message_->needs_driving();
}

Request::State Request::after(State before, Step step) {
  switch (step) {
    case Step::started:
      return State::open;
    case Step::to_show:
      return before == State::open ? State::shown : before == State::complete ? State::shown_complete : before;
    case Step::over:
      return before == State::open ? State::complete : before == State::shown ? State::shown_complete : before;
    case Step::freed:
      return before == State::open ? State::abandoned : before == State::shown ? State::shown_abandoned : before;
    case Step::told:
      return State::inactive;
  }
  return before;
}

void Request::prepare() {
  if (remake_) {
    void* const memory = call_;
    std::exchange(call_, nullptr)->~PendingCall();
    call_ = remake_(memory);
  }
  ended_by_ = MPI_SUCCESS;
  thrown_ = nullptr;
  code_ = before_();
}

bool Request::may_go_on(const Allowed& allowed) const {
  const bool has_messages = message_ ? message_->calls_host() : of_.spanning != nullptr;
  return (!runs_operators_ || allowed.operators) && (!has_messages || allowed.messages);
}

bool Request::goes_on(const Allowed& allowed) {
  if (!may_go_on(allowed)) return false;
  try {
    if (call_->progress()) return true;
    if (message_) return false;
    const int rank = call_->waits_for();
    peer_.store(rank < 0 ? -1 : of_.communicator->node_rank(rank), std::memory_order_relaxed);
    return false;
  } catch (const Disagreement&) {
    ended_by_ = error_after_leaving(runs_on());
    return true;
  } catch (const network::Failure& problem) {
    ended_by_ = problem.code;
    network_failed(of_, problem.kind);
    return true;
  } catch (const std::exception& problem) {
    end_job(communicator_for_errors(), problem);
  }
}

void Request::finish() {
  try {
    code_ = ended_by_ != MPI_SUCCESS ? ended_by_ : after_(code_);
  } catch (const OfProgram& exception) {
    thrown_ = exception.thrown;
  } catch (const std::exception& problem) {
    code_ = class_of(problem, collective_);
  }
  if (ended_by_ == MPI_SUCCESS && (too_long_ || call_->truncated())) code_ = MPI_ERR_TRUNCATE;
  if (!is_persistent()) give_back();
}

void RequestList::add(Request& request) {
  request.next_ = nullptr;
  request.previous_ = last_;
  (last_ ? last_->next_ : first_) = &request;
  last_ = &request;
  ++size_;
}

void RequestList::remove(Request& request) {
  (request.previous_ ? request.previous_->next_ : first_) = request.next_;
  (request.next_ ? request.next_->previous_ : last_) = request.previous_;
  --size_;
}

void RequestList::append(RequestList& other) {
  if (other.empty()) return;
  other.first_->previous_ = last_;
  (last_ ? last_->next_ : first_) = other.first_;
  last_ = other.last_;
  size_ += other.size_;
  other = {};
}

}  // namespace tutti::mpi
