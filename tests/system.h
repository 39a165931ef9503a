// What tests ask of the system beside what the library does. Emulators of processors lack some of it (docs/processors.md);
// tests that need it are skipped there, and say why.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace tutti::test {

/// process_vm_readv, at least of the own memory.
inline bool kernel_copies() {
  char from = 1, to = 0;
  const iovec here{&to, 1}, there{&from, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 && to == 1;
}

/// RLIMIT_AS refuses what is over it.
inline bool address_space_can_be_limited() {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit nothing = before;
  nothing.rlim_cur = 0;
  setrlimit(RLIMIT_AS, &nothing);
  constexpr std::size_t bytes = 1 << 20;
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  setrlimit(RLIMIT_AS, &before);
  if (mapped != MAP_FAILED) munmap(mapped, bytes);
  return mapped == MAP_FAILED;
}

/// A child lacks what was advised MADV_DONTFORK.
inline bool children_can_lack_pages() {
  constexpr std::size_t bytes = 1 << 16;
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || madvise(pages, bytes, MADV_DONTFORK) != 0) return false;
  unsigned char present[bytes / 4096];
  const pid_t child = fork();
  if (child == 0) _exit(mincore(pages, bytes, present) != 0 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  munmap(pages, bytes);
  return status == 0;
}

/// What /proc tells of a process is about the program, not about what emulates it.
inline bool proc_tells_of_the_program() {
  char text[32] = "";
  std::FILE* const file = std::fopen("/proc/self/syscall", "re");
  if (!file) return false;
  const bool read = std::fgets(text, sizeof text, file) != nullptr;
  std::fclose(file);
  return read && std::atol(text) == SYS_read;
}

/// A sequentially consistent load waits for the stores before it. QEMU 7.2 has no fence between stlr and ldar, and x86-64
/// then loads first: by chance, so that it is not tried but asked whether this is emulated.
inline bool ordered_loads_wait() {
#ifdef __aarch64__
  return proc_tells_of_the_program();
#else
  return true;
#endif
}

}  // namespace tutti::test
