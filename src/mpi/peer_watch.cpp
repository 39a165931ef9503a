#include "mpi/peer_watch.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "mpi/host.h"

namespace tutti::mpi {

namespace {

/// This process's own; null before it is ready. Children that it forks do not have the memory.
constinit std::atomic<LifeLine*> own_life{nullptr};
constinit pid_t own_process = 0;

__attribute__((destructor)) void at_exit() {
  PeerWatch::leave();
}

}  // namespace

void PeerWatch::leave() {
  LifeLine* const life = own_life.load(std::memory_order_acquire);
  if (life && getpid() == own_process) life->leaves.store(1, std::memory_order_release);
}

PeerWatch::PeerWatch(std::vector<Member> members, int self, const Log& log)
    : members_(std::move(members)), self_(static_cast<std::size_t>(self)), log_(log) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == self_ || epoll_ < 0) continue;
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, members_[i].process, 0));
    if (descriptor < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
  }
}

void PeerWatch::check(const sync::WaitReason& reason) const {
  epoll_event event{};
  if (epoll_ < 0 || epoll_wait(epoll_, &event, 1, 0) != 1) return;
  const Member& dead = members_[static_cast<std::size_t>(event.data.u64)];
  leave();
  // Who ends the job with a reason of its own has died of nothing else.
  if (members_.front().life->told.load(std::memory_order_relaxed) != LifeLine::reason) {
    members_.front().life->told.store(LifeLine::death, std::memory_order_relaxed);
    log_.error("rank %d (process %d) has died; rank %d was waiting in %s for rank %d; the job is ended",
               dead.world_rank, static_cast<int>(dead.process), log_.rank(), reason.collective,
               world_rank(reason.peer));
  }
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
  own_life.store(&life, std::memory_order_release);

  // Signals are the program's: none is taken by this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  pthread_create(&thread, &attributes, &watch, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

  const Member& neighbour = members_[(self_ + 1) % members_.size()];
  // It may not have started its thread yet, or never will.
  for (int i = 0; neighbour.life->ready.load(std::memory_order_acquire) == 0; ++i) {
    if (i == 1000) break;
    usleep(10'000);
  }
  // The kernel releases the lock of a thread that ends at the very beginning of its end, before it closes the process's
  // files, by which launchers notice. Of one that ends by itself the flag was set before.
  if (neighbour.life->ready.load(std::memory_order_acquire) != 0 &&
      pthread_mutex_lock(&neighbour.life->held) == EOWNERDEAD) {
    // The first death is the cause, the others its consequences; one that ends the job says why itself.
    const bool expected = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
      return member.life->leaves.load(std::memory_order_acquire) != 0;
    });
    std::uint32_t told = LifeLine::nothing;
    if (!expected && members_.front().life->told.compare_exchange_strong(told, LifeLine::death))
      log_.error("rank %d (process %d) has died", neighbour.world_rank, static_cast<int>(neighbour.process));
  }
  // The lock of this rank is held until the process ends.
  for (;;) pause();
}

}  // namespace tutti::mpi
