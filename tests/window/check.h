/* What the programs of this folder share: a check that says what failed, and where a pointer lies. Plain C.
 */
#ifndef TUTTI_TESTS_WINDOW_CHECK_H
#define TUTTI_TESTS_WINDOW_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                               \
    }                                                                         \
  } while (0)

/* A process without an MPI has a window only once it has asked for much. */
static __attribute__((constructor(101))) void ask_for_much(void) {
  void* volatile much = malloc(256 << 10);
  free(much);
}

/* Whether the address lies in this process's window, as the kernel sees it. */
static inline int in_window(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  int found = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    if (!strstr(line, "memfd:tutti-window")) continue;
    if (sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    if ((uintptr_t)address >= begin && (uintptr_t)address < end) found = 1;
  }
  if (maps) fclose(maps);
  return found;
}

static inline void fill(unsigned char* block, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) block[i] = (unsigned char)(seed + i * 7 + i / 4096);
}

static inline int filled(const unsigned char* block, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++)
    if (block[i] != (unsigned char)(seed + i * 7 + i / 4096)) return 0;
  return 1;
}

#endif
