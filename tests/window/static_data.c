/* Static data that the window takes over when the rank starts: the contents are what they were, the pages are shared,
 * and whatever the program does to them has the effect that it has without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { page = 4096, count = 1000000 };

extern char** environ;
extern double library_array[], untouched_array[];
int forks_seen(void);
void take_static_data(void);

static int initialised[count] = {1, 2, 3, [count - 1] = 7};
static int zeroed[count];
static _Alignas(page) unsigned char pages[64 * page];
static const char* const text[] = {"constant", "after relocation"};
static int (*function)(void) = forks_seen;
static _Thread_local int of_thread = 5;
static ucontext_t caller, coroutine;
static _Alignas(64) char coroutine_stack[256 << 10];

static int status_of(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static void contents(void) {
  zeroed[500] = 50;
  library_array[1] = 20;
  FILE* const out = stdout;
  char** const variables = environ;
  take_static_data();
  CHECK(in_window(initialised) && in_window(&zeroed[500]) && in_window(&zeroed[900000]));
  CHECK(in_window(library_array) && in_window(untouched_array));
  CHECK(!in_window(text) && !in_window(dlsym(RTLD_DEFAULT, "optarg")));
  CHECK(initialised[0] == 1 && initialised[2] == 3 && initialised[count - 1] == 7 && initialised[count / 2] == 0);
  CHECK(zeroed[500] == 50 && zeroed[499] == 0 && zeroed[count - 1] == 0);
  CHECK(library_array[0] == 1 && library_array[1] == 20 && library_array[2] == 3 && untouched_array[999999] == 0);
  CHECK(function() == 0 && of_thread == 5 && !strcmp(text[1], "after relocation"));
  CHECK(stdout == out && environ == variables && printf("%s", "") == 0 && getenv("PATH"));
}

static void forked(void) {
  zeroed[500] = 50;
  take_static_data();
  zeroed[600] = 60;
  const pid_t child = fork();
  if (child == 0) {
    /* The library's handler has run, over what the parent had. */
    CHECK(forks_seen() == 101 && library_array[2] == 30 && library_array[0] == 1);
    CHECK(!in_window(zeroed) && zeroed[500] == 50 && zeroed[600] == 60 && initialised[count - 1] == 7);
    zeroed[500] = initialised[0] = -1;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      CHECK(zeroed[500] == -1);
      zeroed[600] = -2;
      _exit(0);
    }
    CHECK(status_of(grandchild) == 0 && zeroed[600] == 60);
    _exit(0);
  }
  CHECK(status_of(child) == 0);
  CHECK(zeroed[500] == 50 && initialised[0] == 1 && library_array[2] == 3 && forks_seen() == 100);
  CHECK(system("exit 3") == 3 << 8);
  char* const arguments[] = {"true", NULL};
  pid_t spawned;
  CHECK(posix_spawnp(&spawned, "true", NULL, NULL, arguments, environ) == 0 && status_of(spawned) == 0);
}

/* A daemon closes all descriptors, the window's too. */
static void forked_without_descriptor(void) {
  zeroed[500] = 50;
  take_static_data();
  for (int i = 3; i < 5000; i++) close(i);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(!in_window(zeroed) && zeroed[500] == 50 && zeroed[501] == 0 && forks_seen() == 101);
    zeroed[500] = -1;
    _exit(0);
  }
  CHECK(status_of(child) == 0 && zeroed[500] == 50 && forks_seen() == 100);
}

static void fork_on_coroutine(void) {
  const pid_t child = fork();
  if (child == 0) _exit(zeroed[500]);
  CHECK(status_of(child) == 50 << 8);
}
static void on_coroutine(void (*run)(void)) {
  CHECK(getcontext(&coroutine) == 0);
  coroutine.uc_stack.ss_sp = coroutine_stack;
  coroutine.uc_stack.ss_size = sizeof coroutine_stack;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, run, 0);
  CHECK(swapcontext(&caller, &coroutine) == 0);
}
static void stack(void) {
  zeroed[500] = 50;
  take_static_data();
  CHECK(in_window(coroutine_stack));
  on_coroutine(fork_on_coroutine);
}
static void start_on_stack(void) {
  on_coroutine(take_static_data);
  CHECK(!in_window(coroutine_stack));
}

static void changed(void) {
  memset(pages, 1, sizeof pages);
  take_static_data();
  CHECK(in_window(pages));
  /* Given back, they are zero. */
  CHECK(madvise(pages, 2 * page, MADV_DONTNEED) == 0 && pages[0] == 0 && pages[2 * page - 1] == 0 &&
        pages[2 * page] == 1);
  CHECK(mprotect(pages + 4 * page, page, PROT_READ) == 0);
  CHECK(mmap(pages + 6 * page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        pages + 6 * page);
  pages[6 * page] = 66;
  unsigned char* const moved = mremap(pages + 8 * page, page, 2 * page, MREMAP_MAYMOVE);
  CHECK(moved != MAP_FAILED && moved != pages + 8 * page && moved[5] == 1 && !in_window(moved));
  CHECK(munmap(pages + 10 * page, page) == 0);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(pages[4 * page] == 1 && pages[6 * page] == 66 && moved[5] == 1 && pages[11 * page] == 1 && pages[0] == 0);
    signal(SIGSEGV, _exit);
    pages[4 * page] = 2;
    _exit(1);
  }
  CHECK(status_of(child) == SIGSEGV << 8);
  CHECK(mprotect(pages + 4 * page, page, PROT_READ | PROT_WRITE) == 0 && ++pages[4 * page] == 2);
}

static volatile int stop;
static void* count_up(void* counter) {
  while (!stop) ++*(volatile long*)counter;
  return NULL;
}
/* Its stores would be lost if a page was copied and put in place of the old one while it runs. */
static void threads(void) {
  static long counters[1 << 16];
  long* const counter = &counters[1 << 15];
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, count_up, counter) == 0);
  while (*(volatile long*)counter == 0) {
  }
  take_static_data();
  CHECK(!in_window(counter));
  stop = 1;
  pthread_join(thread, NULL);
}

static long resident(void) {
  FILE* const status = fopen("/proc/self/status", "r");
  char line[256];
  long kibibytes = -1;
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kibibytes);
  fclose(status);
  return kibibytes;
}

/* How many small pages are there once a byte of the second whole huge page of these has been stored to. */
static size_t small_pages_of_a_byte(unsigned char* bytes) {
  enum { huge = 2 << 20 };
  unsigned char* const begin = (unsigned char*)(((uintptr_t)bytes + huge - 1) / huge * huge) + huge;
  unsigned char there[huge / page];
  begin[huge / 2] = 1;
  CHECK(mincore(begin, huge, there) == 0);
  size_t count_there = 0;
  for (size_t i = 0; i < sizeof there; i++) count_there += there[i] & 1;
  return count_there;
}
/* Large arrays have huge pages where large blocks of malloc have them. */
static void huge_pages(void) {
  enum { bytes = 24 << 20 };
  static unsigned char array[bytes];
  take_static_data();
  CHECK(in_window(array) && in_window(array + bytes - 1));
  unsigned char* const block = malloc(bytes);
  const size_t of_block = small_pages_of_a_byte(block), of_array = small_pages_of_a_byte(array);
  fprintf(stderr, "a byte takes %zu pages of a block, %zu of a static array\n", of_block, of_array);
  CHECK(of_block == of_array);
  const pid_t child = fork();
  if (child == 0) _exit(array[0] == 0 && small_pages_of_a_byte(array) > 0 ? 0 : 1);
  CHECK(status_of(child) == 0);
  free(block);
}

#ifdef LARGE
/* So many GiB: nothing is paid for what was never touched, and a core dump does not make memory of it. */
static char large[(size_t)LARGE << 30];
static void much_is_untouched(void) {
  const size_t last = sizeof large - 5 * page;
  large[last] = 1;
  const long before = resident();
  struct timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  take_static_data();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  CHECK(in_window(large) && large[last] == 1 && large[last / 2] == 0);
  fprintf(stderr, "taken in %.1f ms, %ld KiB more\n", 1e3 * seconds, resident() - before);
  CHECK(seconds < 0.2 && resident() - before < 32 << 10);
  FILE* const maps = fopen("/proc/self/smaps", "r");
  char line[4096];
  size_t dumped = 0, bytes = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long first, last;
    if (sscanf(line, "%lx-%lx ", &first, &last) == 2) bytes = last - first;
    if (!strncmp(line, "VmFlags:", 8) && !strstr(line, " dd") && strstr(line, " wr")) dumped += bytes;
  }
  fclose(maps);
  CHECK(dumped < (size_t)1 << 30);
}
#endif

int main(int argument_count, char** arguments) {
  const struct {
    const char* name;
    void (*run)(void);
  } all[] = {
      {"contents", contents},
      {"forked", forked},
      {"forked-without-descriptor", forked_without_descriptor},
      {"stack", stack},
      {"start-on-stack", start_on_stack},
      {"changed", changed},
      {"threads", threads},
      {"huge-pages", huge_pages},
#ifdef LARGE
      {"much-is-untouched", much_is_untouched},
#endif
  };
  (void)resident;
  for (size_t i = 0; argument_count == 2 && i < sizeof all / sizeof *all; i++)
    if (!strcmp(all[i].name, arguments[1])) return all[i].run(), 0;
  return 99;
}
