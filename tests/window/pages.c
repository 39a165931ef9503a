/* What a program may do with the pages of its blocks: map over them, unmap, move, protect and empty them. It sees the
   same as with memory that is its own alone, its children too, and what it has freed serves again.
   Argument "window": the blocks must lie in the window; "plain": none may. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = 4096, PAGES = 512, BYTES = PAGES * PAGE };
static int expected;

static unsigned char* fresh(void) {
  unsigned char* block = aligned_alloc(PAGE, BYTES);
  CHECK(block && in_window(block) == expected);
  fill(block, BYTES, 3);
  return block;
}

/* Frees it, and its memory serves again, the window's where it was. */
static void release(unsigned char* block) {
  free(block);
  for (int i = 0; i < 3; i++) {
    unsigned char* next = fresh();
    CHECK(filled(next, BYTES, 3));
    free(next);
  }
}

/* In a child: whether `page` pages from the block on read as `seed` says; -1: they cannot be read. */
static void child_sees(const unsigned char* block, size_t at, int value) {
  pid_t child = fork();
  if (child == 0) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    if (value < 0) {
      CHECK(write(ends[1], block + at, 1) == -1 && errno == EFAULT);
    } else {
      CHECK(block[at] == value);
      ((unsigned char*)block)[at]++;
    }
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  if (value >= 0) CHECK(block[at] == value);
}

static void anonymous_memory(void) {
  unsigned char* block = fresh();
  CHECK(mmap(block + PAGE, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        block + PAGE);
  CHECK(block[PAGE] == 0 && block[PAGE - 1] != 0);
  memset(block + PAGE, 9, 10 * PAGE);
  child_sees(block, 5 * PAGE, 9);
  child_sees(block, 20 * PAGE, block[20 * PAGE]);
  CHECK(mmap(block, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
        errno == EEXIST);
  unsigned char* moved = realloc(block, 4 * BYTES);
  CHECK(moved && moved[5 * PAGE] == 9 && moved[0] == 3);
  release(moved);
}

static void a_file(void) {
  char name[] = "/tmp/tutti-pages-XXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, 4 * PAGE) == 0 && pwrite(file, "file", 4, PAGE) == 4);
  unsigned char* block = fresh();
  CHECK(mmap(block + 2 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == block + 2 * PAGE);
  CHECK(memcmp(block + 3 * PAGE, "file", 4) == 0);
  *(volatile unsigned char*)(block + 2 * PAGE) = 'x';
  free(block);
  block = fresh(); /* must not be the file any more */
  char byte = 0;
  CHECK(pread(file, &byte, 1, 0) == 1 && byte == 'x');
  CHECK(pread(file, &byte, 1, PAGE) == 1 && byte == 'f');
  close(file);
  release(block);
}

static void unmapped(void) {
  unsigned char* block = fresh();
  CHECK(munmap(block + 100 * PAGE, 50 * PAGE) == 0);
  CHECK(munmap(block + 1, PAGE) == -1 && errno == EINVAL);
  child_sees(block, 100 * PAGE, -1);
  child_sees(block, 150 * PAGE, block[150 * PAGE]);
  /* The C library, too, maps memory while the pages are gone; it must survive that the block is freed. With its own
     blocks it may not. */
  if (!expected) return;
  void* maps[50];
  for (int i = 0; i < 50; i++) {
    maps[i] = mmap(NULL, 50 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(maps[i], i, 50 * PAGE);
  }
  CHECK(mmap(block + 100 * PAGE, 50 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        block + 100 * PAGE);
  memset(block + 100 * PAGE, 1, 50 * PAGE);
  CHECK(munmap(block + 100 * PAGE, 50 * PAGE) == 0);
  release(block);
  for (int i = 0; i < 50; i++) CHECK(((unsigned char*)maps[i])[25 * PAGE] == i && munmap(maps[i], 50 * PAGE) == 0);
}

/* Ranges that reach beyond all addresses: refused as a whole. */
static void beyond_all_addresses(void) {
  unsigned char* block = fresh();
  const size_t lengths[] = {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX - 4096, SIZE_MAX - (uintptr_t)block, PTRDIFF_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const size_t bytes = lengths[i];
    CHECK((errno = 0, munmap(block, bytes)) == -1 && errno == EINVAL);
    if (bytes > PTRDIFF_MAX) { /* of others the kernel changes what is mapped */
      CHECK((errno = 0, madvise(block, bytes, MADV_DONTNEED)) == -1 && errno == EINVAL);
      CHECK(mprotect(block, bytes, PROT_NONE) == -1);
    }
    CHECK(mremap(block, bytes, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK(mremap(block, PAGE, bytes, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK((errno = 0, mremap(block, PAGE, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block + 10 * PAGE)) == MAP_FAILED &&
          errno == EINVAL);
    CHECK(filled(block, BYTES, 3));
  }
  release(block);
}

static void moved(void) {
  unsigned char* block = fresh();
  unsigned char first = block[10 * PAGE], second = block[11 * PAGE];
  unsigned char* elsewhere = mremap(block + 10 * PAGE, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
  CHECK(elsewhere != MAP_FAILED && elsewhere[0] == first && elsewhere[PAGE] == second && elsewhere[3 * PAGE] == 0);
  child_sees(block, 10 * PAGE, -1);
  unsigned char* back = mremap(elsewhere, 4 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, block + 20 * PAGE);
  CHECK(back == block + 20 * PAGE && back[0] == first && back[PAGE] == second);
  child_sees(block, 20 * PAGE, first);
  CHECK(mremap(block, 2 * PAGE, 4 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
  unsigned char* target = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mremap(block + 30 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
  unsigned char kept = target[0];
  CHECK(mremap(block + 40 * PAGE, 4 * PAGE, PAGE, 0) == block + 40 * PAGE);
  child_sees(block, 41 * PAGE, -1);
  if (expected) release(block);
  CHECK(target[0] == kept); /* what has moved out is not the next block's memory */
  munmap(target, 8 * PAGE);
}

static unsigned char* guarded;
static volatile int touched;
static void open_page(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  unsigned char* page = (unsigned char*)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
  if (page < guarded || page >= guarded + BYTES) _Exit(99);
  touched++;
  mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void protected(void) {
  struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO}, before;
  sigaction(SIGSEGV, &action, &before);
  guarded = fresh();
  CHECK(mprotect(guarded, 10 * PAGE, PROT_NONE) == 0);
  CHECK(mprotect(guarded + 20 * PAGE, 10 * PAGE, PROT_READ) == 0);
  child_sees(guarded, PAGE, -1);
  for (int i = 0; i < 30; i++) guarded[i * PAGE] = (unsigned char)i;
  CHECK(touched == 20);
  CHECK(mprotect(guarded, 30 * PAGE, PROT_NONE) == 0);
  child_sees(guarded, PAGE, -1);
  CHECK(mprotect(guarded, 30 * PAGE, PROT_READ | PROT_WRITE) == 0);
  child_sees(guarded, PAGE, 1);
  CHECK(mprotect(guarded + 40 * PAGE, PAGE, PROT_NONE) == 0);
  release(guarded);
  CHECK(touched == 20);
  sigaction(SIGSEGV, &before, NULL);
}

static void emptied(void) {
  unsigned char* block = fresh();
  CHECK(mmap(block + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        block + PAGE);
  block[PAGE] = 5;
  CHECK(mprotect(block + 2 * PAGE, PAGE, PROT_READ) == 0);
  CHECK(madvise(block, 4 * PAGE, MADV_DONTNEED) == 0);
  for (int i = 0; i < 4; i++) CHECK(block[i * PAGE] == 0);
  CHECK(block[4 * PAGE] != 0);
  CHECK(mprotect(block + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
  /* Nothing that a program says of its memory may let a child write to it. */
  CHECK(madvise(block, BYTES, MADV_DOFORK) == 0);
  child_sees(block, 8 * PAGE, block[8 * PAGE]);
  release(block);
}

static void shared_segment(void) {
  int segment = shmget(IPC_PRIVATE, 4 * PAGE, IPC_CREAT | 0600);
  if (segment < 0) return;
  unsigned char* block = fresh();
  unsigned char* attached = shmat(segment, block + 8 * PAGE, SHM_REMAP);
  CHECK(attached == block + 8 * PAGE && attached[0] == 0);
  attached[PAGE] = 6;
  CHECK(shmdt(attached) == 0);
  child_sees(block, 9 * PAGE, -1);
  CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
  if (expected) release(block);
}

static void remapped_file_pages(void) {
  unsigned char* block = fresh();
  CHECK(remap_file_pages(block, PAGE, 0, 1, 0) == -1 && errno == EINVAL);
  CHECK(filled(block, BYTES, 3));
  release(block);
}

int main(int count, char** arguments) {
  expected = count > 1 && strcmp(arguments[1], "window") == 0;
  mallopt(M_MMAP_THRESHOLD, PAGE); /* the C library's own are whole mappings, too */
  anonymous_memory();
  a_file();
  unmapped();
  beyond_all_addresses();
  moved();
  protected();
  emptied();
  shared_segment();
  remapped_file_pages();
  return 0;
}
