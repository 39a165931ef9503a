#include "probe/team.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>

#include "clock.h"
#include "processors.h"

namespace tutti::bench {

namespace {

/// Ends what is left of a team, whatever happens.
class Children {
 public:
  ~Children() {
    for (const pid_t child : running_) kill(child, SIGKILL);
    for (const pid_t child : running_) waitpid(child, nullptr, 0);
  }
  void add(pid_t child) { running_.insert(child); }
  bool empty() const { return running_.empty(); }
  /// Takes one that has ended. 0: none has. Its status goes into `status`.
  pid_t reap(int& status) {
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child > 0) running_.erase(child);
    return child;
  }

 private:
  std::set<pid_t> running_;
};

[[noreturn]] void be_member(TeamState& state, int index, const std::vector<int>& processors, bool crowded,
                            const std::function<void(Member&)>& body, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  state.process[index] = getpid();
  int status = 0;
  try {
    if (!bind_to(processors[static_cast<std::size_t>(index)]))
      throw std::runtime_error(std::string("processes cannot be bound to processors (sched_setaffinity: ") +
                               std::strerror(errno) + ")");
    Member member(state, index, static_cast<int>(processors.size()), crowded);
    body(member);
  } catch (const std::exception& problem) {
    if (state.failed.exchange(1) == 0) std::snprintf(state.reason, sizeof state.reason, "%s", problem.what());
    status = 1;
  }
  _exit(status);
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {
  const int descriptor = memfd_create("tutti-probe", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    if (descriptor >= 0) close(descriptor);
    throw std::runtime_error(std::string("no shared memory: ") + std::strerror(errno));
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  close(descriptor);
  if (base == MAP_FAILED) throw std::runtime_error(std::string("no shared memory: ") + std::strerror(errno));
  base_ = static_cast<std::byte*>(base);
}

SharedMemory::~SharedMemory() {
  munmap(base_, bytes_);
}

void Member::meet() {
  ++turn_;
  state_.arrived[index_].value.store(turn_, std::memory_order_release);
  for (int i = 0; i < size_; ++i)
    for (int polls = 0; state_.arrived[i].value.load(std::memory_order_acquire) < turn_; ++polls) {
      if (state_.failed.load(std::memory_order_relaxed)) throw std::runtime_error("another member failed");
      if (!crowded_)
        relax();
      else if (polls < 3)
        sched_yield();
      else
        usleep(20);  // who waits here must not take the processor from who measures
    }
}

void Member::start_line(int first) {
  ++starts_;
  state_.started[index_].value.store(starts_, std::memory_order_release);
  for (int i = first; i < size_; ++i)
    while (state_.started[i].value.load(std::memory_order_acquire) < starts_) {
      if (state_.failed.load(std::memory_order_relaxed)) throw std::runtime_error("another member failed");
      relax();
    }
}

bool Member::agree(bool more) {
  if (index_ == 0) state_.more.store(more ? 1 : 0, std::memory_order_relaxed);
  meet();
  const bool answer = state_.more.load(std::memory_order_relaxed) != 0;
  meet();
  return answer;
}

void Member::keep(double seconds) {
  std::size_t& count = state_.sample_count[index_];
  if (count < samples_max) state_.samples[index_][count++] = seconds;
}

std::vector<double> slowest(const TeamSamples& samples) {
  std::size_t rounds = 0;
  for (const auto& mine : samples) rounds = std::max(rounds, mine.size());
  std::vector<double> out(rounds, 0.0);
  for (const auto& mine : samples)
    if (mine.size() == rounds)
      for (std::size_t i = 0; i < rounds; ++i) out[i] = std::max(out[i], mine[i]);
  return out;
}

TeamSamples run_team(const std::vector<int>& processors, double limit_seconds,
                     const std::function<void(Member&)>& body) {
  const int size = static_cast<int>(processors.size());
  if (size > team_max) throw std::runtime_error("more than " + std::to_string(team_max) + " processes");
  const SharedMemory memory(sizeof(TeamState));
  TeamState& state = *new (memory.base()) TeamState;
  const bool crowded = std::set<int>(processors.begin(), processors.end()).size() < processors.size();
  const pid_t parent = getpid();
  // Blocked, it is waited for instead of polled: this process must not take time from its children.
  sigset_t ends, before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, &before);
  std::fflush(nullptr);  // what is in a buffer would be written twice
  Children children;
  for (int i = 0; i < size; ++i) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (child == 0) be_member(state, i, processors, crowded, body, parent);
    children.add(child);
  }
  const std::uint64_t deadline = shared_now_ns() + static_cast<std::uint64_t>(limit_seconds * 1e9);
  while (!children.empty()) {
    int status = 0;
    if (children.reap(status) > 0) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      if (!state.failed.exchange(1)) std::snprintf(state.reason, sizeof state.reason, "a process died");
      continue;
    }
    if (shared_now_ns() > deadline) throw std::runtime_error("took too long");
    const timespec wait{0, 20'000'000};
    sigtimedwait(&ends, nullptr, &wait);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (state.failed) throw std::runtime_error(state.reason);
  TeamSamples samples(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i)
    samples[static_cast<std::size_t>(i)].assign(state.samples[i], state.samples[i] + state.sample_count[i]);
  return samples;
}

}  // namespace tutti::bench
