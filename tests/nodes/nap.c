// Preloaded into ranks on make-believe nodes: who polls in vain naps a little.
//
// An MPI asks its connections for news without waiting for any (epoll_wait and the like with a time of 0). It may do so
// without end on a node of its own. Here the ranks of all nodes and the network between them share the processors, and who
// spins keeps those away that have what is waited for. After some polls in vain each further one takes a nap.
//
//     NODES_NAP=20      microseconds of a nap; 0: none
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <time.h>

/// So many polls in vain take less than a microsecond each, and cost who waits nothing if the answer is nearly there.
enum { patience = 4, usual_nap_us = 20 };

static long nap_ns = -1;
static _Thread_local unsigned in_vain;

__attribute__((constructor)) static void read_setting(void) {
  const char* const text = getenv("NODES_NAP");
  nap_ns = 1000 * (text ? atol(text) : usual_nap_us);
}

static int told(int result, int waits) {
  if (waits || result != 0) {
    in_vain = 0;
    return result;
  }
  if (++in_vain <= patience || nap_ns <= 0) return result;
  if (in_vain == patience + 1) prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);  // of this thread: 50 us are usual
  const int error = errno;
  const struct timespec nap = {0, nap_ns};
  nanosleep(&nap, NULL);
  errno = error;
  return result;
}

#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name)

int epoll_wait(int set, struct epoll_event* events, int most, int milliseconds) {
  NEXT(epoll_wait);
  return told(next(set, events, most, milliseconds), milliseconds != 0);
}

int epoll_pwait(int set, struct epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
  NEXT(epoll_pwait);
  return told(next(set, events, most, milliseconds, mask), milliseconds != 0);
}

int poll(struct pollfd* descriptors, nfds_t count, int milliseconds) {
  NEXT(poll);
  return told(next(descriptors, count, milliseconds), milliseconds != 0);
}

int ppoll(struct pollfd* descriptors, nfds_t count, const struct timespec* time, const sigset_t* mask) {
  NEXT(ppoll);
  return told(next(descriptors, count, time, mask), !time || time->tv_sec || time->tv_nsec);
}

int select(int count, fd_set* reads, fd_set* writes, fd_set* others, struct timeval* time) {
  NEXT(select);
  const int waits = !time || time->tv_sec || time->tv_usec;
  return told(next(count, reads, writes, others, time), waits);
}
