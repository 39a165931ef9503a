// What glibc 2.27 does not have, for what is linked by cmake/glibc_floor.cmake. Hidden: each library has its own.
// Static libstdc++ and libgcc call these when they were built on a newer system.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Of 2.32: libstdc++ counts references without locked instructions while there is one thread. Who does not know says no.
char __libc_single_threaded = 0;

// Of 2.30.
pid_t gettid(void) {
  return (pid_t)syscall(SYS_gettid);
}

// Of 2.33; before, these were inline functions that called others. The kernel's structure is the C library's on
// these processors.
int fstatat(int folder, const char* restrict path, struct stat* restrict facts, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, facts, flags);
}
int stat(const char* restrict path, struct stat* restrict facts) {
  return fstatat(AT_FDCWD, path, facts, 0);
}
int lstat(const char* restrict path, struct stat* restrict facts) {
  return fstatat(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* facts) {
  return (int)syscall(SYS_fstat, file, facts);
}
int fstatat64(int folder, const char* restrict path, struct stat64* restrict facts, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, facts, flags);
}
int stat64(const char* restrict path, struct stat64* restrict facts) {
  return fstatat64(AT_FDCWD, path, facts, 0);
}
int lstat64(const char* restrict path, struct stat64* restrict facts) {
  return fstatat64(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}
int fstat64(int file, struct stat64* facts) {
  return (int)syscall(SYS_fstat, file, facts);
}

// Of 2.36: std::random_device. It cannot fail, and its caller cannot be told.
uint32_t arc4random(void) {
  uint32_t value = 0;
  char* at = (char*)&value;
  size_t left = sizeof(value);
  while (left > 0) {
    const long got = syscall(SYS_getrandom, at, left, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got > 0) {
      at += got;
      left -= (size_t)got;
    }
  }
  return value;
}

// Of 2.30: std::condition_variable waits by the steady clock. Without it by the other one: the condition variable is one
// of the default clock, and is asked again by its caller after a clock that was set made the wait too short.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, deadline;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += until->tv_sec - now.tv_sec;
  deadline.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (deadline.tv_nsec < 0) {
    deadline.tv_nsec += 1000000000;
    deadline.tv_sec -= 1;
  } else if (deadline.tv_nsec >= 1000000000) {
    deadline.tv_nsec -= 1000000000;
    deadline.tv_sec += 1;
  }
  return pthread_cond_timedwait(condition, mutex, &deadline);
}

// Of 2.29 and 2.35, which leave errno to the first versions. These are in the same library and called by their name.
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#else
#define FIRST "GLIBC_2.17"
#endif
#define FIRST_VERSION(name) __asm__(".symver first_" #name ", " #name "@" FIRST)
double first_exp(double), first_log(double), first_pow(double, double), first_hypot(double, double);
FIRST_VERSION(exp);
FIRST_VERSION(log);
FIRST_VERSION(pow);
FIRST_VERSION(hypot);
double exp(double x) {
  return first_exp(x);
}
double log(double x) {
  return first_log(x);
}
double pow(double x, double y) {
  return first_pow(x, y);
}
double hypot(double x, double y) {
  return first_hypot(x, y);
}

#if defined(__powerpc64__)
// Of 2.32: libstdc++ reads and writes long double in both formats that there are for POWER. Ours is the older one, a pair of
// doubles, and what is for the other one is never called.
#define OF_THE_OTHER_FORMAT(name) \
  void name(void);                \
  void name(void) {               \
    abort();                      \
  }
OF_THE_OTHER_FORMAT(__frexpieee128)
OF_THE_OTHER_FORMAT(__strtoieee128)
OF_THE_OTHER_FORMAT(__strtoieee128_l)
OF_THE_OTHER_FORMAT(__vsnprintfieee128)
#endif

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// Of 2.35: libgcc looks up where an exception passes through. What older ones have for that says the same, a little slower.
struct object_at {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_at(struct dl_phdr_info* info, size_t bytes, void* data) {
  (void)bytes;
  const struct object_at* const wanted = data;
  uintptr_t first = UINTPTR_MAX, end = 0, frames = 0;
  int within = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = begin;
    if (part->p_type != PT_LOAD) continue;
    if (begin < first) first = begin;
    if (begin + part->p_memsz > end) end = begin + part->p_memsz;
    within |= wanted->address >= begin && wanted->address < begin + part->p_memsz;
  }
  if (!within || !frames) return within;
  wanted->found->dlfo_flags = 0;
  wanted->found->dlfo_map_start = (void*)first;
  wanted->found->dlfo_map_end = (void*)end;
  wanted->found->dlfo_link_map = NULL;
  wanted->found->dlfo_eh_frame = (void*)frames;
  return 2;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
  struct object_at wanted = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_at, &wanted) == 2 ? 0 : -1;
}
#endif
