/* What a program pays for the window; not a test. Run it with and without the preloaded library:
     cc -O2 tests/window/measure.c -o /tmp/measure
     /tmp/measure;  PMI_RANK=0 LD_PRELOAD=build/release/src/mpi/libtutti.so /tmp/measure
   Milliseconds of processor time, the median of 5. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Processor time of this process and of the children it has waited for: right on a busy machine too. */
static double now(void) {
  double total = 0;
  for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
    struct rusage used;
    getrusage(who, &used);
    total += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
  }
  return total;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void touch(unsigned char* block, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) block[at] = 1;
}

static double first_touch(size_t bytes) {
  unsigned char* block = malloc(bytes);
  const double start = now();
  touch(block, bytes);
  return now() - start; /* never released: a second one would be warm */
}

/* The same after asking the kernel for all pages at once, in pieces. */
static double populate(size_t bytes) {
  unsigned char* block = malloc(bytes);
  unsigned char* begin = (unsigned char*)(((uintptr_t)block + 4095) & ~(uintptr_t)4095);
  const double start = now();
  for (size_t at = 0; at + (2 << 20) <= bytes - 4096; at += 2 << 20)
    madvise(begin + at, 2 << 20, 23 /* MADV_POPULATE_WRITE */);
  touch(block, bytes);
  return now() - start;
}

static double again(size_t bytes) { /* malloc, touch, free, for the tenth time */
  double last = 0;
  for (int i = 0; i < 10; i++) {
    const double start = now();
    unsigned char* block = malloc(bytes);
    touch(block, bytes);
    free(block);
    last = now() - start;
  }
  return last;
}

static double calls(size_t bytes) { /* a thousand pairs of malloc and free, untouched */
  const double start = now();
  for (int i = 0; i < 1000; i++) {
    unsigned char* volatile block = malloc(bytes);
    free(block);
  }
  return now() - start;
}

static double fork_and_end(size_t bytes) {
  unsigned char* block = malloc(bytes);
  memset(block, 1, bytes);
  const double start = now();
  const pid_t child = fork();
  if (child == 0) _exit(block[bytes - 1] != 1);
  waitpid(child, NULL, 0);
  const double end = now();
  free(block);
  return end - start;
}

static void median(const char* name, double (*measure)(size_t), size_t bytes) {
  double times[5];
  for (int i = 0; i < 5; i++) times[i] = measure(bytes);
  qsort(times, 5, sizeof *times, ascending);
  printf("%-44s %9.3f  (%.3f to %.3f)\n", name, times[2], times[0], times[4]);
}

int main(void) {
  const size_t mebibyte = 1 << 20;
  /* Forks first: what follows leaves memory behind, which a child would be given a copy of. */
  median("fork with 1 MiB", fork_and_end, mebibyte);
  median("fork with 512 MiB", fork_and_end, 512 * mebibyte);
  median("first touch of 256 MiB", first_touch, 256 * mebibyte);
  median("256 MiB populated in steps of 2 MiB", populate, 256 * mebibyte);
  median("malloc, touch, free of 8 MiB, once warm", again, 8 * mebibyte);
  median("malloc, touch, free of 200 MiB, once warm", again, 200 * mebibyte);
  median("malloc, touch, free of 600 MiB, once warm", again, 600 * mebibyte);
  median("1000 x malloc and free of 20 KiB", calls, 20 << 10);
  median("1000 x malloc and free of 1 MiB", calls, mebibyte);
  median("1000 x malloc and free of 100 bytes", calls, 100);
  return 0;
}
