#include "preload/process_window.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/log.h"
#include "base/settings.h"
#include "base/slurm_step.h"
#include "preload/given.h"
#include "preload/other_allocators.h"
#include "preload/thread_blocks.h"

namespace tutti::memory {

namespace serving {

constinit Served served;

}  // namespace serving

namespace {

enum class State {
  undecided,  ///< nobody has looked at the environment yet
  dormant,    ///< not started by an allocation, since this does not look like a rank; MPI_Init may start it
  starting,   ///< allocations meanwhile come from the program's own malloc
  ready,
  off,
};

// Constant-initialised and never destroyed: malloc is called before every constructor and after every
// destructor.
constinit std::atomic<State> state{State::undecided};
constinit Window* window = nullptr;
/// Why there is none, or why it serves nothing; empty: it serves.
constinit char why_not[512]{};
constinit std::atomic<bool> fork_handlers{false};
constinit std::atomic<bool> warned{false};
/// The window that fork_prepare was called for in this thread; another thread may start one during a fork.
__attribute__((tls_model("initial-exec"))) constinit thread_local Window* forking = nullptr;

/// A setting of ours; nullptr if unset or empty.
const char* setting(const char* name) {
  const char* const text = getenv(name);
  return text && *text ? text : nullptr;
}

std::size_t bytes_setting(const char* name, std::size_t fallback) {
  std::size_t value = 0;
  const char* const text = setting(name);
  return text && parse_bytes(text, value) ? value : fallback;
}

bool switched_off() {
  return bytes_setting("TUTTI_WINDOW_SIZE", 0) == 1 || switched_off_by_user();
}

/// Whether a launcher says that this process is a rank of an MPI job.
bool launched_as_rank() {
  for (const char* name : {"PMI_RANK", "PMI_FD", "PMI_ID", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
                           "PALS_RANKID", "ALPS_APP_PE", "FLUX_TASK_RANK"})
    if (getenv(name)) return true;
  return slurm_tasks() > 0;
}

/// Whether the loader has found an MPI for this process. Shells, launchers' helpers and tools between the launcher and the
/// program have none; an interpreter may load one later.
bool has_mpi() {
  if (dlsym(RTLD_NEXT, "MPI_Init")) return true;
  dlerror();  // the program's next one is to be about what it asked for itself
  return false;
}

/// What makes a window in a process without an MPI: interpreters ask for that much as they start, shells do not.
constexpr std::size_t much = std::size_t{128} * 1024;

void before_fork() {
  forking = process_window();
  if (forking) forking->fork_prepare();
}

void after_fork_in_parent() {
  if (!forking) return;
  const Window::Child got = forking->fork_in_parent();
  if (got != Window::Child::snapshot && !warned.exchange(true))
    Log().warn(
        "there is no memory to copy this rank's large arrays (%zu MiB) for a child that it forked: the child "
        "may exec, "
        "but not touch %s; TUTTI_WINDOW_SIZE=1 switches the window off",
        forking->statistics().resident_bytes >> 20,
        got == Window::Child::partial ? "those of more than 16 MiB" : "any of them");
  forking = nullptr;
}

void after_fork_in_child() {
  if (state.load(std::memory_order_relaxed) != State::undecided) state.store(State::off, std::memory_order_relaxed);
  serving::from_bytes.store(SIZE_MAX, std::memory_order_relaxed);
  if (forking) forking->fork_in_child();
  given::fork_in_child();
  forking = nullptr;
}

void install_fork_handlers() {
  if (!fork_handlers.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/// As early as possible: handlers in the child run in the order of registration, and those of others may
/// touch the window.
__attribute__((constructor(101))) void at_load() {
  install_fork_handlers();
  serving::window_for_request();
}

/// Makes the window; the caller has moved the state to `starting`.
Window* start(const WindowOptions& options, std::string& reason) {
  if (switched_off()) {
    reason = "the window is switched off (TUTTI_ENABLE, TUTTI_WINDOW_SIZE)";
    return nullptr;
  }
  if (const Watched watched = watcher_of_allocations(); watched.by != Watcher::nobody) {
    reason = std::string(watched.name) + " watches this process and is to see every allocation";
    return nullptr;
  }
  install_fork_handlers();
  WindowOptions own = options;
  own.extent = &serving::bytes;
  Window* const made = Window::create(own, reason).release();
  if (!made) return nullptr;
  window = made;
  const std::string before = allocator_before_ours();
  const bool serve = before.empty();
  if (!serve) reason = before + ", whose memory is not in the window";
  thread_blocks::start(options.retain_bytes / 64);  // usually 1 MiB
  serving::begin.store(reinterpret_cast<std::uintptr_t>(made->base()), std::memory_order_release);
  if (made->huge_pages().are_rather_private(false))
    serving::below_bytes.store(HugePages::least_block, std::memory_order_relaxed);
  constexpr std::size_t least = 1024;  // smaller blocks gain nothing from a window and would cost every malloc time
  serving::from_bytes.store(
      serve ? std::max(least, bytes_setting("TUTTI_WINDOW_MIN", std::size_t{2} * 1024)) : SIZE_MAX,
      std::memory_order_relaxed);
  return made;
}

Window* start_from(State expected, const WindowOptions& options, std::string& reason) {
  if (!state.compare_exchange_strong(expected, State::starting, std::memory_order_acq_rel)) return nullptr;
  Window* const made = start(options, reason);
  reason.copy(why_not, sizeof why_not - 1);
  if (!made) serving::from_bytes.store(SIZE_MAX, std::memory_order_relaxed);
  state.store(made ? State::ready : State::off, std::memory_order_release);
  return made;
}

}  // namespace

namespace serving {

void handle_forks() noexcept {
  install_fork_handlers();
}

Window* window_for_request() noexcept {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::ready) return window;
  if (now != State::undecided || !environ) return nullptr;
  if (!launched_as_rank() || alone_on_node() || switched_off()) {
    State expected = State::undecided;
    from_bytes.store(SIZE_MAX, std::memory_order_relaxed);
    state.compare_exchange_strong(expected, State::dormant, std::memory_order_acq_rel);
    return nullptr;
  }
  if (from_bytes.load(std::memory_order_relaxed) < much && !has_mpi()) {
    from_bytes.store(much, std::memory_order_relaxed);
    return nullptr;
  }
  std::string reason;
  return start_from(State::undecided, process_window_options(), reason);
}

Window* owner() noexcept {
  return window;
}

}  // namespace serving

Window* process_window() noexcept {
  return state.load(std::memory_order_acquire) == State::ready ? window : nullptr;
}

Window* start_process_window(const WindowOptions& options, std::string& reason) {
  for (;;) {
    switch (state.load(std::memory_order_acquire)) {
      case State::ready:
        reason = why_not;
        return window;
      case State::off:
        reason = *why_not ? why_not : "this is the child of a rank";
        return nullptr;
      case State::starting:
        sched_yield();
        break;
      case State::undecided:
        if (Window* const made = start_from(State::undecided, options, reason)) return made;
        break;
      case State::dormant:
        if (Window* const made = start_from(State::dormant, options, reason)) return made;
        break;
    }
    if (!reason.empty()) return nullptr;
  }
}

bool says_no(const char* text) noexcept {
  for (const char* no : {"0", "no", "false", "off"})
    if (strcasecmp(text, no) == 0) return true;
  return false;
}

bool switched_off_by_user() noexcept {
  const char* const enable = setting("TUTTI_ENABLE");
  return enable && says_no(enable);
}

void serve_no_more() noexcept {
  serving::from_bytes.store(SIZE_MAX, std::memory_order_relaxed);
}

void huge_pages_are_asked_for() noexcept {
  if (window && window->huge_pages().are_rather_private(true))
    serving::below_bytes.store(HugePages::least_block, std::memory_order_relaxed);
}

std::size_t local_ranks() noexcept {
  for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                           "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"}) {
    const char* const text = getenv(name);
    const long value = text ? std::atol(text) : 0;
    if (value > 0) return static_cast<std::size_t>(value);
  }
  if (const int tasks = slurm_tasks_on_node(); tasks > 0) return static_cast<std::size_t>(tasks);
  return static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

bool alone_on_node() noexcept {
  for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                           "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"})
    if (const char* const text = getenv(name)) return std::atol(text) == 1;
  return slurm_tasks_on_node() == 1;
}

WindowOptions process_window_options() noexcept {
  // An eighth of the 47 bits that a process has on common machines, shared by the windows of all local ranks.
  constexpr std::size_t all_windows = std::size_t{1} << 44;
  WindowOptions options;
  options.bytes = bytes_setting("TUTTI_WINDOW_SIZE", 0);
  options.least_bytes = std::size_t{256} << 20;
  options.retain_bytes = bytes_setting("TUTTI_WINDOW_RETAIN", options.retain_bytes);
  options.windows = local_ranks();
  const char* const asked = setting("TUTTI_HUGE");
  const std::string_view huge = asked ? asked : "auto";
  options.huge = huge_kind_named(huge);
  // Its small pages take 0.6 to 1.7 ms, a huge one 0.05 to 0.4, and 4.4 where it has to be had back from the machine's host.
  // Who names a kind gets it.
  if (huge == "auto") options.slow_huge_page = std::chrono::microseconds(2500);
  if (options.bytes == 0) {
    const auto physical =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    options.bytes = std::min(physical, all_windows / local_ranks());
  }
  return options;
}

}  // namespace tutti::memory
