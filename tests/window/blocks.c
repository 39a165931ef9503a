/* Every function of the malloc family, below and above TUTTI_WINDOW_MIN, and moves between the two kinds.
   Argument "window": large blocks must lie in the window; "plain": none may. Behind it "wraps": the allocator is one whose
   own sums wrap; "brief": without the many threads, where the question is only in whose hands blocks are. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include "check.h"

enum { LARGE = 100000, SMALL = 100 };
static int expected;

static void of_kind(void* block, size_t alignment) {
  CHECK(block);
  CHECK(in_window(block) == expected);
  CHECK((uintptr_t)block % alignment == 0);
  CHECK(malloc_usable_size(block) >= LARGE);
  memset(block, 0xEE, LARGE);
  errno = 1234;
  free(block);
  CHECK(errno == 1234);
}

static void each_function(void) {
  of_kind(malloc(LARGE), 16);
  of_kind(realloc(NULL, LARGE), 16);
  of_kind(reallocarray(NULL, LARGE / 4, 4), 16);
  of_kind(memalign(4096, LARGE), 4096);
  of_kind(aligned_alloc(256, LARGE), 256);
  of_kind(valloc(LARGE), 4096);
  of_kind(pvalloc(LARGE), 4096);
  void* block = NULL;
  CHECK(posix_memalign(&block, 1024, LARGE) == 0);
  of_kind(block, 1024);
  CHECK(posix_memalign(&block, 24, LARGE) == EINVAL);
  unsigned char* zeroed = calloc(LARGE / 10, 10);
  for (int i = 0; i < LARGE; i++) CHECK(zeroed[i] == 0);
  of_kind(zeroed, 16);
  volatile size_t huge = SIZE_MAX / 2;
  CHECK(calloc(huge, 3) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(NULL, huge, 3) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM);
  void* small = malloc(SMALL);
  CHECK(!in_window(small));
  free(small);
  free(NULL);
  CHECK(malloc_usable_size(NULL) == 0);
}

/* Sizes and alignments at which sums and roundings wrap: refused with the C library's errno, and a block that was to
   grow stays as it was. */
static void refused(size_t bytes) {
  for (size_t held = SMALL; held <= 3 * (size_t)LARGE; held += LARGE) {
    unsigned char* block = malloc(held);
    fill(block, held, 5);
    CHECK((errno = 0, realloc(block, bytes)) == NULL && errno == ENOMEM);
    CHECK((errno = 0, reallocarray(block, bytes / 8 + 1, 8)) == NULL && errno == ENOMEM);
    CHECK(in_window(block) == (expected && held >= LARGE) && filled(block, held, 5));
    free(block);
  }
  CHECK((errno = 0, malloc(bytes)) == NULL && errno == ENOMEM);
  CHECK((errno = 0, calloc(bytes, 1)) == NULL && errno == ENOMEM);
  CHECK((errno = 0, calloc(bytes / 2, 3)) == NULL && errno == ENOMEM);
  CHECK((errno = 0, valloc(bytes)) == NULL && errno == ENOMEM);
  CHECK((errno = 0, pvalloc(bytes)) == NULL && errno == ENOMEM);
  for (size_t alignment = 8; alignment <= (size_t)1 << 40; alignment *= 32) {
    void* block = &block;
    CHECK((errno = 0, memalign(alignment, bytes)) == NULL && errno == ENOMEM);
    CHECK((errno = 0, aligned_alloc(alignment, bytes)) == NULL && errno == ENOMEM);
    CHECK(posix_memalign(&block, alignment, bytes) == ENOMEM && block == &block);
  }
}

static void sizes_that_wrap(void) {
  /* Two thirds: half as much again is more than a size can say. */
  const size_t edges[] = {SIZE_MAX, PTRDIFF_MAX, SIZE_MAX / 3 * 2 + 4096, SIZE_MAX / 4 * 3};
  const size_t below[] = {0, 1, 15, 16, 63, 4095, 4096, 4097, (2 << 20) - 1, (32 << 20) + 1};
  for (size_t edge = 0; edge < sizeof edges / sizeof *edges; edge++)
    for (size_t k = 0; k < sizeof below / sizeof *below; k++) {
      refused(edges[edge] - below[k]);
      if (edges[edge] <= PTRDIFF_MAX) refused(edges[edge] + below[k]);
    }
  void* block = &block;
  CHECK((errno = 0, memalign(((size_t)1 << 63) + 1, LARGE)) == NULL && errno == EINVAL);
  CHECK(posix_memalign(&block, ((size_t)1 << 63) + 8, LARGE) == EINVAL && block == &block);
}

/* Whole pages of a block that the program gives back itself are zero when it touches them again. */
static void given_back(void) {
  for (int i = 0; i < 2; i++) {
    unsigned char* block = aligned_alloc(4096, LARGE / 4096 * 4096);
    memset(block, 7, 8192);
    CHECK(madvise(block, 4096, i ? MADV_FREE : MADV_DONTNEED) == 0);
    CHECK(i ? block[0] == 0 || block[0] == 7 : block[0] == 0);
    CHECK(block[4096] == 7);
    free(block);
  }
}

static void across_the_kinds(void) {
  unsigned char* block = malloc(SMALL);
  fill(block, SMALL, 3);
  block = realloc(block, LARGE);
  CHECK(in_window(block) == expected && filled(block, SMALL, 3));
  fill(block, LARGE, 4);
  block = realloc(block, 50 * LARGE);
  CHECK(in_window(block) == expected && filled(block, LARGE, 4));
  block = realloc(block, SMALL);
  CHECK(!in_window(block) && filled(block, SMALL, 4));
  block = realloc(block, LARGE);
  CHECK(realloc(block, 0) == NULL);
}

static void* hammer(void* argument) {
  unsigned random = (unsigned)(uintptr_t)argument;
  unsigned char* blocks[32] = {0};
  size_t bytes[32] = {0};
  for (int step = 0; step < 3000; step++) {
    random = random * 1664525u + 1013904223u;
    const unsigned which = random >> 27;
    const size_t wanted = (size_t)1 << (5 + (random >> 8) % 14);
    if (blocks[which]) CHECK(filled(blocks[which], bytes[which], which));
    if (blocks[which] && (random >> 5) % 2) {
      free(blocks[which]);
      blocks[which] = NULL;
      continue;
    }
    const size_t kept = blocks[which] ? (bytes[which] < wanted ? bytes[which] : wanted) : 0;
    blocks[which] = realloc(blocks[which], wanted);
    CHECK(blocks[which] && filled(blocks[which], kept, which));
    fill(blocks[which], wanted, which);
    bytes[which] = wanted;
  }
  for (int i = 0; i < 32; i++) free(blocks[i]);
  return NULL;
}

/* What a thread has freed it may get again: with room for what is asked, where it is asked for, and cleared. */
static void* short_thread(void* unused) {
  enum { BLOCKS = 40 };
  (void)unused;
  unsigned char* blocks[BLOCKS];
  for (size_t bytes = 2048; bytes <= 70000; bytes = bytes * 5 / 4 + 3) {
    for (int i = 0; i < BLOCKS; i++) {
      const size_t alignment = (size_t)16 << i % 9;
      if (i % 3 == 0) CHECK((blocks[i] = malloc(bytes)));
      if (i % 3 == 1) CHECK((blocks[i] = calloc(bytes, 1)) && blocks[i][0] == 0 && blocks[i][bytes - 1] == 0);
      if (i % 3 == 2) CHECK((blocks[i] = aligned_alloc(alignment, bytes)) && (uintptr_t)blocks[i] % alignment == 0);
      CHECK(malloc_usable_size(blocks[i]) >= bytes);
      fill(blocks[i], bytes, (unsigned)i);
    }
    for (int i = 0; i < BLOCKS; i++) {
      CHECK(filled(blocks[i], bytes, (unsigned)i));
      free(blocks[i]);
    }
  }
  return NULL;
}

static long kibibytes_in_use(void) {
  char line[256];
  long kibibytes = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kibibytes);
  if (status) fclose(status);
  return kibibytes;
}

/* What threads have kept is there for others when they have ended. */
static void threads_that_end(void) {
  pthread_t thread;
  long before = 0;
  for (int i = 0; i < 220; i++) {
    if (i == 20) before = kibibytes_in_use();
    CHECK(pthread_create(&thread, NULL, short_thread, NULL) == 0);
    pthread_join(thread, NULL);
  }
  CHECK(kibibytes_in_use() - before < 32 << 10);
}

static void* never_freed_until_exit;
static void at_the_end(void) {
  free(never_freed_until_exit);
}

/* Of an allocator that is preloaded after ours, which may not say how large its blocks are. */
static int grown(void) {
  unsigned char* block = malloc(SMALL);
  fill(block, SMALL, 3);
  block = realloc(block, (size_t)LARGE * 1000);
  CHECK(block && filled(block, SMALL, 3));
  free(block);
  return 0;
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "grown") == 0) return grown();
  expected = count > 1 && strcmp(arguments[1], "window") == 0;
  int wraps = 0, brief = 0;
  for (int i = 2; i < count; i++) {
    wraps |= strcmp(arguments[i], "wraps") == 0;
    brief |= strcmp(arguments[i], "brief") == 0;
  }
  each_function();
  if (!wraps) sizes_that_wrap();
  across_the_kinds();
  given_back();
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, hammer, (void*)(i + 1)) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  if (!brief) threads_that_end();
  never_freed_until_exit = malloc(LARGE);
  atexit(at_the_end);
  return 0;
}
