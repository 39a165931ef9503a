/* fork in a rank: the child sees the parent's arrays as they were, and writes only its own. Argument: which
 * case. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 20 << 20 };

static unsigned char* array_of(size_t bytes, unsigned seed) {
  unsigned char* block = malloc(bytes);
  CHECK(block && in_window(block));
  fill(block, bytes, seed);
  return block;
}

static void good_end(pid_t child) {
  int status = -1;
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What a child may do with its parent's blocks. Ends with the blocks released. */
static void use_in_child(unsigned char* block, unsigned seed) {
  CHECK(!in_window(block));
  CHECK(filled(block, BYTES, seed));
  fill(block, BYTES, seed + 1);
  CHECK(filled(block, BYTES, seed + 1));
  CHECK(malloc_usable_size(block) >= BYTES);
  block = realloc(block, BYTES + BYTES / 2);
  CHECK(block && filled(block, BYTES, seed + 1));
  block = realloc(block, 1000);
  CHECK(block && filled(block, 1000, seed + 1));
  free(block);
  unsigned char* fresh = calloc(1, BYTES);
  CHECK(fresh && !in_window(fresh) && fresh[BYTES - 1] == 0);
  fill(fresh, BYTES, 5);
  free(fresh);
}

static void snapshot(void) {
  unsigned char* block = array_of(BYTES, 1);
  unsigned char* other = array_of(40000, 2);
  for (int round = 0; round < 5; round++) {
    const pid_t child = fork();
    if (child == 0) {
      use_in_child(block, 1 + (unsigned)round * 10);
      CHECK(filled(other, 40000, 2));
      free(other);
      exit(0);
    }
    fill(block, BYTES, 1 + (unsigned)(round + 1) * 10);
    good_end(child);
    CHECK(filled(block, BYTES, 1 + (unsigned)(round + 1) * 10));
    CHECK(filled(other, 40000, 2));
  }
}

static void nested(void) {
  unsigned char* block = array_of(BYTES, 1);
  const pid_t child = fork();
  if (child == 0) {
    fill(block, BYTES, 2);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      CHECK(filled(block, BYTES, 2));
      use_in_child(block, 2);
      _exit(0);
    }
    good_end(grandchild);
    CHECK(filled(block, BYTES, 2));
    _exit(0);
  }
  good_end(child);
  CHECK(filled(block, BYTES, 1));
}

static void programs(void) {
  unsigned char* block = array_of(BYTES, 1);
  CHECK(system("exit 7") >> 8 == 7);
  FILE* pipe = popen("echo from a pipe", "r");
  char line[64] = "";
  CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "from a pipe\n") == 0);
  CHECK(pclose(pipe) == 0);
  for (int use_vfork = 0; use_vfork < 2; use_vfork++) {
    const pid_t child = use_vfork ? vfork() : fork();
    if (child == 0) {
      execlp("true", "true", (char*)NULL);
      _exit(3);
    }
    good_end(child);
  }
  /* An exec'ed program whose arguments lie in the window. */
  char* text = malloc(60000);
  memset(text, 'a', 59999);
  text[59999] = 0;
  const pid_t child = fork();
  if (child == 0) {
    execlp("test", "test", "-n", text, (char*)NULL);
    _exit(3);
  }
  good_end(child);
  CHECK(filled(block, BYTES, 1));
}

static volatile int stop;
static void* churn(void* argument) {
  unsigned random = (unsigned)(uintptr_t)argument;
  while (!stop) {
    random = random * 1664525u + 1013904223u;
    const size_t bytes = 16384 + (random >> 10) % 500000;
    unsigned char* block = malloc(bytes);
    fill(block, 20000 < bytes ? 20000 : bytes, random);
    block = realloc(block, bytes * 2);
    CHECK(filled(block, 20000 < bytes ? 20000 : bytes, random));
    free(block);
  }
  return NULL;
}

static void* fork_often(void* argument) {
  unsigned char* block = argument;
  for (int i = 0; i < 20; i++) {
    const pid_t child = fork();
    if (child == 0) {
      CHECK(filled(block, 1 << 20, 9));
      free(block);
      free(malloc(100000));
      _exit(0);
    }
    good_end(child);
  }
  return NULL;
}

/* Two threads fork while two others allocate and free. */
static void threads(void) {
  pthread_t churners[2], forkers[2];
  for (uintptr_t i = 0; i < 2; i++) pthread_create(&churners[i], NULL, churn, (void*)(i + 1));
  for (int i = 0; i < 2; i++) pthread_create(&forkers[i], NULL, fork_often, array_of(1 << 20, 9));
  for (int i = 0; i < 2; i++) pthread_join(forkers[i], NULL);
  stop = 1;
  for (int i = 0; i < 2; i++) pthread_join(churners[i], NULL);
}

static ucontext_t main_context, coroutine_context;
static void coroutine(void) {
  volatile int here = 41;
  CHECK(in_window((void*)&here));
  const pid_t child = fork();
  if (child == 0) {
    CHECK(here == 41);
    here = 43;
    usleep(20000);
    CHECK(here == 43);
    _exit(0);
  }
  here = 42;
  good_end(child);
  CHECK(here == 42);
}

/* The caller's stack is a block of the window. */
static void stack(void) {
  getcontext(&coroutine_context);
  coroutine_context.uc_stack.ss_sp = malloc(256 << 10);
  coroutine_context.uc_stack.ss_size = 256 << 10;
  coroutine_context.uc_link = &main_context;
  makecontext(&coroutine_context, coroutine, 0);
  CHECK(swapcontext(&main_context, &coroutine_context) == 0);
}

/* A child that is killed while it copies, or cannot be made at all, does not hold its parent up; nor do
 * signals. */
static volatile sig_atomic_t ticks;
static void tick(int number) {
  (void)number;
  ticks++;
}
static void signals(void) {
  unsigned char* block = array_of(BYTES, 1);
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  ualarm(500, 500);
  for (int i = 0; i < 10; i++) {
    const pid_t child = fork();
    if (child == 0) {
      CHECK(filled(block, BYTES, 1));
      sigset_t mask;
      sigprocmask(SIG_SETMASK, NULL, &mask);
      CHECK(!sigismember(&mask, SIGUSR1));
      _exit(0);
    }
    good_end(child);
  }
  ualarm(0, 0);
  CHECK(ticks > 0);
}

int main(int count, char** arguments) {
  const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"snapshot", snapshot}, {"nested", nested}, {"programs", programs},
               {"threads", threads},   {"stack", stack},   {"signals", signals}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (count > 1 && strcmp(arguments[1], cases[i].name) == 0) return cases[i].run(), 0;
  return 2;
}
