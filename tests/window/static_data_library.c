/* A library with arrays of its own, whose handlers in forked children use them. And for programs in Fortran what they
 * need of C. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

double library_array[100000] = {1, 2, 3};
double untouched_array[1000000];
static int forks[20000];

static void in_child(void) {
  forks[10000]++;
  library_array[2] = 30;
}
static void before(void) {
  forks[0]++;
}

/* Before any constructor of a preloaded library. */
__attribute__((constructor)) static void at_load(void) {
  pthread_atfork(before, 0, in_child);
}

int forks_seen(void) {
  return forks[0] * 100 + forks[10000];
}

/* As the part for an MPI does in MPI_Init. */
void take_static_data(void) {
  void (*take)(void) = NULL;
  *(void**)&take = dlsym(RTLD_DEFAULT, "_ZN5tutti6memory16take_static_dataEv");
  CHECK(take);
  take();
}
int is_in_window(const void* address) {
  return in_window(address);
}

void (*call_at_unload)(void);
__attribute__((destructor)) static void at_unload(void) {
  if (call_at_unload) call_at_unload();
}
