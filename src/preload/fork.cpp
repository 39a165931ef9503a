// fork, interposed for one case: a caller whose stack lies in the window, as the stacks of coroutines and of
// threads over malloc'ed memory or in static arrays do. The window is not inherited, so that the child of such a call
// would have no stack to return to. It is made from a private stack instead; by the time the child is back on the
// caller's, it has its copy.
#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "preload/process_window.h"

namespace {

using Fork = pid_t (*)();

Fork next_fork() {
  Fork function = nullptr;
  void* const found = dlsym(RTLD_NEXT, "fork");
  std::memcpy(&function, &found, sizeof found);
  return function;
}

/// Lives at the beginning of the private stack.
struct Detour {
  ucontext_t caller;
  ucontext_t forker;
  Fork fork = nullptr;
  pid_t result = -1;
  int error = 0;
};

/// makecontext passes only ints: a pointer goes in two halves.
void run_fork(unsigned low, unsigned high) {
  auto* const detour = reinterpret_cast<Detour*>(std::uintptr_t{low} | std::uintptr_t{high} << 32);
  detour->result = detour->fork();
  detour->error = errno;
}

pid_t fork_from_private_stack(Fork fork) {
  constexpr std::size_t bytes = std::size_t{256} * 1024;
  constexpr std::size_t reserved = (sizeof(Detour) + 63) / 64 * 64;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  auto* const detour = new (memory) Detour;
  detour->fork = fork;
  pid_t result = -1;
  if (getcontext(&detour->forker) == 0) {
    detour->forker.uc_stack.ss_sp = static_cast<std::byte*>(memory) + reserved;
    detour->forker.uc_stack.ss_size = bytes - reserved;
    detour->forker.uc_link = &detour->caller;
    const auto address = reinterpret_cast<std::uintptr_t>(detour);
    makecontext(&detour->forker, reinterpret_cast<void (*)()>(run_fork), 2, static_cast<unsigned>(address),
                static_cast<unsigned>(address >> 32));
    swapcontext(&detour->caller, &detour->forker);
    result = detour->result;
  }
  const int error = detour->error;
  munmap(memory, bytes);
  errno = error;
  return result;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) pid_t fork() noexcept {
  const Fork next = next_fork();
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  const void* const stack = __builtin_frame_address(0);
  const tutti::memory::Window* const window = tutti::memory::process_window();
  const bool in_window = window && (tutti::memory::serving::owns(stack) || window->spans().touches(stack, 1));
  return in_window ? fork_from_private_stack(next) : next();
}
