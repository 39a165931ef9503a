#include "mpi/wait/peer_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/no_signals.h"
#include "mpi/host.h"

namespace tutti::mpi {

namespace {

/// This process's own; null before it is ready. Children that it forks do not have the memory.
constinit std::atomic<LifeLine*> own_life{nullptr};
constinit pid_t own_process = 0;
constinit PeerWatch* own_watch = nullptr;

/// Longer than any launcher takes to end the job after one of its processes, also on a machine that is busy.
constexpr std::int64_t patience = 5'000'000'000;
/// Longer than the threads of a process that is killed take to end, one after the other.
constexpr int rounds_of_ending = 10'000;
constexpr useconds_t round_microseconds = 100;

std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// From /proc/PID/stat: the state and the kernel's flags of the first thread. False if it cannot be read.
bool read_state(pid_t process, char& state, unsigned& flags) {
  char path[32], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  // The name of the program, in brackets, may hold anything.
  const char* const behind_name = std::strrchr(text, ')');
  return behind_name && std::sscanf(behind_name + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2;
}

__attribute__((destructor)) void at_exit() {
  PeerWatch::leave();
}

}  // namespace

void PeerWatch::leave(LifeLine::Leaves how) {
  LifeLine* const life = own_life.load(std::memory_order_acquire);
  if (!life || getpid() != own_process) return;
  // Who ends the job may still call exit().
  if (life->leaves.load(std::memory_order_relaxed) < how) life->leaves.store(how, std::memory_order_release);
}

void PeerWatch::wait_for_launcher() {
  if (!own_watch || getpid() != own_process) return;
  // Memory goes before the process does.
  usleep(50'000);
  PeerWatch& watch = *own_watch;
  watch.take_notice();
  const auto has_ended = [](const Process& process) { return process.ended_at.load(std::memory_order_relaxed) != 0; };
  if (std::any_of(watch.processes_.get(), watch.processes_.get() + watch.members_.size(), has_ended))
    std::this_thread::sleep_for(std::chrono::nanoseconds(patience));
}

PeerWatch::PeerWatch(std::vector<Member> members, int self, const Log& log)
    : members_(std::move(members)),
      processes_(std::make_unique<Process[]>(members_.size())),
      self_(static_cast<std::size_t>(self)),
      log_(log) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == self_ || epoll_ < 0) continue;
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, members_[i].process, 0));
    if (descriptor < 0) continue;
    processes_[i].descriptor = descriptor;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
  }
}

void PeerWatch::take_notice() {
  epoll_event event{};
  while (epoll_wait(epoll_, &event, 1, 0) == 1) {
    Process& process = processes_[static_cast<std::size_t>(event.data.u64)];
    process.ended_at.store(now(), std::memory_order_relaxed);
    epoll_ctl(epoll_, EPOLL_CTL_DEL, process.descriptor, nullptr);
  }
}

bool PeerWatch::first_to_tell(LifeLine::Told what) const {
  std::atomic<std::uint32_t>& told = members_.front().life->told;
  std::uint32_t before = told.load(std::memory_order_relaxed);
  while (before < what)
    if (told.compare_exchange_weak(before, what, std::memory_order_relaxed)) return true;
  return false;
}

void PeerWatch::check(const sync::WaitReason& reason) {
  if (epoll_ < 0 || reason.peer < 0) return;
  take_notice();
  // Others that have ended may have done all that was theirs to do here.
  const auto peer = static_cast<std::size_t>(reason.peer);
  Process& process = processes_[peer];
  const std::int64_t ended_at = process.ended_at.load(std::memory_order_relaxed);
  if (ended_at == 0) [[likely]]
    return;
  const Member& ended = members_[peer];
  // What it had set before is seen by now, or never comes.
  const bool ends_job = ended.life->leaves.load(std::memory_order_acquire) == LifeLine::with_job;
  if (!process.is_said.exchange(true) && !ends_job && first_to_tell(LifeLine::wait))
    log_.error("rank %d (process %d) has ended; rank %d was waiting in %s for it", ended.world_rank,
               static_cast<int>(ended.process), log_.rank(), reason.collective);
  if (now() - ended_at < patience) return;
  leave(LifeLine::with_job);
  if (first_to_tell(LifeLine::reason))
    log_.error("rank %d still waits in %s for rank %d (process %d), which has ended; the job is ended", log_.rank(),
               reason.collective, ended.world_rank, static_cast<int>(ended.process));
  // The launcher forwards the line, and may end itself at the abort before it has done so.
  usleep(200'000);
  host.Abort(MPI_COMM_WORLD, 1);
}

void PeerWatch::start() {
  LifeLine& life = *members_[self_].life;
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&life.held, &robust);
  pthread_mutexattr_destroy(&robust);
  own_process = getpid();
  own_watch = this;
  own_life.store(&life, std::memory_order_release);

  const NoSignals none;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  pthread_create(&thread, &attributes, &watch, this);
  pthread_attr_destroy(&attributes);
}

void* PeerWatch::watch(void* self) {
  static_cast<const PeerWatch*>(self)->watch_neighbour();
  return nullptr;
}

void PeerWatch::watch_neighbour() const {
  pthread_setname_np(pthread_self(), "tutti-watch");
  LifeLine& own = *members_[self_].life;
  pthread_mutex_lock(&own.held);
  own.ready.store(1, std::memory_order_release);

  const std::size_t next = (self_ + 1) % members_.size();
  const Member& neighbour = members_[next];
  // It may not have started its thread yet, or never will.
  for (int i = 0; neighbour.life->ready.load(std::memory_order_acquire) == 0; ++i) {
    if (i == 1000) break;
    usleep(10'000);
  }
  // The kernel releases the lock of a thread that ends at the very beginning of its end, before it closes the process's
  // files, by which launchers notice. Of one that ends by itself the flag was set before.
  if (neighbour.life->ready.load(std::memory_order_acquire) != 0 &&
      pthread_mutex_lock(&neighbour.life->held) == EOWNERDEAD && ends_now(next)) {
    // The first death is the cause, the others its consequences; one that ends the job says why itself.
    const bool expected = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
      return member.life->leaves.load(std::memory_order_acquire) != 0;
    });
    if (!expected && first_to_tell(LifeLine::end))
      log_.error("rank %d (process %d) has ended without MPI_Finalize", neighbour.world_rank,
                 static_cast<int>(neighbour.process));
  }
  // The lock of this rank is held until the process ends.
  for (;;) pause();
}

bool PeerWatch::is_ending(std::size_t member) const {
  pollfd descriptor{processes_[member].descriptor, POLLIN, 0};
  if (descriptor.fd >= 0 && poll(&descriptor, 1, 0) == 1) return true;
  constexpr unsigned exiting = 0x4;  // PF_EXITING: the same since there is a /proc
  char state = 0;
  unsigned flags = 0;
  return read_state(members_[member].process, state, flags) && (state == 'Z' || state == 'X' || (flags & exiting) != 0);
}

bool PeerWatch::ends_now(std::size_t member) const {
  // A process that calls exec ends all its threads but one.
  for (int i = 0; i < rounds_of_ending; ++i) {
    if (is_ending(member)) return true;
    usleep(round_microseconds);
  }
  return false;
}

}  // namespace tutti::mpi
