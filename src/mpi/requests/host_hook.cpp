#include "mpi/requests/host_hook.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "mpi/host.h"
#include "mpi/requests/requests.h"
#include "preload/part.h"

namespace tutti::mpi {

namespace {

constinit thread_local bool inside_host = false;

/// What we call may go on by itself, and come here again.
class InsideHost {
 public:
  ~InsideHost() { inside_host = before_; }

 private:
  bool before_ = std::exchange(inside_host, true);
};

void drive() {
  if (!requests.need_driving()) return;
  const InsideHost here;
  requests.drive_only({.operators = true, .messages = true});
}

template <class Function>
Function* function_of_host(const char* name) {
  Function* function = nullptr;
  void* const address = preload::host_function(name);
  std::memcpy(&function, &address, sizeof address);
  return function;
}

#ifdef OPEN_MPI

// Open MPI: functions that its progress calls each time. They return how much has come to an end: if it is nothing, and ranks
// share processors, it gives the processor to others.

using Callback = int();
using Register = int(Callback*);

int on_progress() {
  const std::uint64_t before = requests.ended();
  drive();
  return requests.ended() != before ? 1 : 0;
}

struct Hook {
  Register* begin = function_of_host<Register>("opal_progress_register");
  Register* end = function_of_host<Register>("opal_progress_unregister");

  bool is_there() const { return begin && end; }
  void set() const { begin(on_progress); }
  void unset(void (*)()) const { end(on_progress); }
  /// Its progress may be called out of itself; its own nonblocking collectives send and receive out of it, too.
  static bool may_be_tested(MPI_Request) { return true; }
};

#else

// MPICH 5: a function that is called until it says that it is done. Other hosts of this ABI do not have it. It may send and
// receive, and look whether a request is over; progress out of it would wait for a lock that it holds.

using Callback = int(void* thing);
using IsComplete = int(MPI_Request request);
using Start = int(Callback*, void* state, int stream);
constexpr int no_stream = 0x3c000000, goes_on = 0, is_done = 1;

/// It is asked again, and not started anew for each call, while calls come one after the other.
constexpr int idle_turns_max = 1000;
std::atomic<bool> is_running{false}, is_to_end{false};
std::atomic<int> idle_turns{0};

int on_progress(void*) {
  drive();
  const int idle = requests.need_driving() ? 0 : idle_turns.load(std::memory_order_relaxed) + 1;
  idle_turns.store(idle, std::memory_order_relaxed);
  if (!is_to_end && idle < idle_turns_max) return goes_on;
  is_running = false;
  // Who has started a call since then may have found that this was still running.
  return !is_to_end && requests.need_driving_after_all() && !is_running.exchange(true) ? goes_on : is_done;
}

struct Hook {
  Start* start = function_of_host<Start>("PMPIX_Async_start");
  IsComplete* is_complete = function_of_host<IsComplete>("PMPIX_Request_is_complete");

  bool is_there() const { return start && is_complete; }
  bool may_be_tested(MPI_Request request) const { return is_complete(request) != 0; }
  void set() const {
    if (is_to_end || is_running || is_running.exchange(true)) return;
    idle_turns = 0;
    start(on_progress, nullptr, no_stream);
  }
  void unset(void (*turn)()) const {
    constexpr int turns_max = 1000;
    is_to_end = true;
    for (int i = 0; i < turns_max && is_running; ++i) turn();
  }
};

#endif

const Hook& hook() {
  static const Hook found;
  return found;
}

}  // namespace

bool is_inside_host() {
  return inside_host;
}

bool may_be_tested_inside_host(MPI_Request request) {
  return hook().may_be_tested(request);
}

void drive_without_host() {
  const InsideHost here;
  requests.drive();
}

bool host_can_be_hooked() {
  return hook().is_there();
}

void hook_host() {
  if (!hook().is_there()) return;
#ifdef OPEN_MPI
  static const bool is_set = (hook().set(), true);
  static_cast<void>(is_set);
#else
  hook().set();
#endif
}

void unhook_host(void (*turn)()) {
  if (hook().is_there()) hook().unset(turn);
}

}  // namespace tutti::mpi
