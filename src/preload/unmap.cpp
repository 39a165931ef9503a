// The interposed functions that unmap, move or empty memory. They go on to the next definition in link order, so that
// other libraries that watch these calls still see them.
#include "preload/unmap.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "memory/pages.h"
#include "preload/next_definition.h"
#include "preload/pages.h"
#include "preload/process_window.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::memory::unmapping {

constinit std::atomic<Exposures*> exposures{nullptr};
constinit std::atomic<bool> is_watched{false};
constinit std::atomic<std::uint64_t> changes{0};

namespace {

/// What the C library keeps in front of and behind a block is within this.
constexpr std::size_t header_bytes = 64;

/// The heap at the break: where it begins, and how far it was seen to reach.
constinit std::atomic<std::uintptr_t> heap_begin{UINTPTR_MAX};
constinit std::atomic<std::uintptr_t> heap_end{0};
constinit std::atomic<bool> counts_changes{false};

void* next_sbrk(std::intptr_t increment) {
  static auto* const next = next_definition<void*(std::intptr_t)>("sbrk");
  return next(increment);
}

std::uintptr_t current_break() {
  return reinterpret_cast<std::uintptr_t>(next_sbrk(0));
}

void will_lose(const void* address, std::size_t bytes) noexcept {
  changes.fetch_add(1, std::memory_order_release);
  if (Exposures* const table = exposures.load(std::memory_order_acquire)) table->unmapped(address, bytes);
}

/// The heap at the break has a line of its own; without one, no block is taken to lie in it.
std::uintptr_t find_heap() {
  std::uintptr_t begin = UINTPTR_MAX;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return begin;
  char line[512];
  while (std::fgets(line, sizeof line, maps))
    if (std::strstr(line, "[heap]")) begin = std::strtoull(line, nullptr, 16);
  std::fclose(maps);
  return begin;
}

/// What a thread's stack held is given back by the C library when the thread ends, and the stack goes to another one.
struct StackWatch {
  void* begin = nullptr;
  std::size_t bytes = 0;
  bool known = false;
  ~StackWatch() {
    if (bytes) will_lose(begin, bytes);
  }
};
thread_local StackWatch stack_watch;

void after_fork_in_parent() {
  // Of each page that the two now share, the parent may get a new copy when it next writes to it.
  if (Exposures* const table = exposures.load(std::memory_order_acquire)) table->unmapped_all();
}

void after_fork_in_child() {
  exposures.store(nullptr, std::memory_order_relaxed);
  is_watched.store(counts_changes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void look_at_heap() {
  heap_begin.store(find_heap(), std::memory_order_relaxed);
  heap_end.store(current_break(), std::memory_order_relaxed);
}

bool empties(int advice) {
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_REMOVE:
    case MADV_FREE:
#ifdef MADV_DONTNEED_LOCKED
    case MADV_DONTNEED_LOCKED:
#endif
      return true;
    default:
      return false;
  }
}

}  // namespace

void watch(Exposures* table) {
  static const int installed = pthread_atfork(nullptr, after_fork_in_parent, after_fork_in_child);
  static_cast<void>(installed);
  if (table) look_at_heap();
  exposures.store(table, std::memory_order_release);
  is_watched.store(table || counts_changes.load(std::memory_order_relaxed), std::memory_order_release);
}

void count_changes() {
  if (counts_changes.exchange(true)) return;
  look_at_heap();
  is_watched.store(true, std::memory_order_release);
}

void changed_somewhere() noexcept {
  if (watched()) will_lose(nullptr, SIZE_MAX);
}

void before_release(const void* block, std::size_t usable) noexcept {
  if (usable + header_bytes < page_bytes()) return;
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  // In the heap at the break a block stays mapped unless the heap shrinks, which after_release() sees.
  if (heap_begin.load(std::memory_order_relaxed) <= at && at < current_break()) return;
  will_lose(reinterpret_cast<const void*>(at - header_bytes), usable + header_bytes);
}

void after_release() noexcept {
  const std::uintptr_t now = current_break();
  if (now == heap_end.load(std::memory_order_relaxed)) return;
  const std::uintptr_t before = heap_end.exchange(now, std::memory_order_relaxed);
  if (now < before) will_lose(reinterpret_cast<const void*>(now), before - now);
}

void watch_stack_of_this_thread() {
  if (stack_watch.known) return;
  stack_watch.known = true;
  if (gettid() == getpid()) return;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  pthread_attr_getstack(&attributes, &stack_watch.begin, &stack_watch.bytes);
  pthread_attr_destroy(&attributes);
}

}  // namespace tutti::memory::unmapping

namespace unmapping = tutti::memory::unmapping;
namespace pages = tutti::memory::pages;

TUTTI_EXPORT int munmap(void* address, std::size_t bytes) noexcept {
  static auto* const next = tutti::memory::next_definition<int(void*, std::size_t)>("munmap");
  if (unmapping::watched()) unmapping::will_lose(address, bytes);
  const bool static_data = pages::are_of_static_data(address, bytes);
  const int result = pages::are_of_blocks(address, bytes) ? pages::unmap(address, bytes, next) : next(address, bytes);
  if (static_data && result == 0) [[unlikely]]
    pages::mapped_over(address, bytes);
  return result;
}

TUTTI_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
  static auto* const next = tutti::memory::next_definition<int(void*, std::size_t, int)>("madvise");
  if (unmapping::watched() && unmapping::empties(advice)) unmapping::will_lose(address, bytes);
  if (pages::are_of_blocks(address, bytes)) return pages::advise(address, bytes, advice, next);
  if (pages::are_of_static_data(address, bytes)) return pages::advise_static_data(address, bytes, advice, next);
  return next(address, bytes, advice);
}

TUTTI_EXPORT void* mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...) noexcept {
  static auto* const next = tutti::memory::next_definition<void*(void*, std::size_t, std::size_t, int, ...)>("mremap");
  void* to = nullptr;
  if (flags & MREMAP_FIXED) {
    va_list more;
    va_start(more, flags);
    to = va_arg(more, void*);
    va_end(more);
    if (unmapping::watched()) unmapping::will_lose(to, new_bytes);
  }
  if (unmapping::watched()) unmapping::will_lose(address, bytes);
  if (pages::are_of_window(address, bytes)) [[unlikely]]
    return pages::remap(address, bytes, new_bytes, flags, to, next);
  void* const moved = next(address, bytes, new_bytes, flags, to);
  if ((flags & MREMAP_FIXED) && moved != MAP_FAILED) pages::mapped_over(moved, new_bytes);
  return moved;
}

TUTTI_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor,
                        off_t offset) noexcept {
  static auto* const next = tutti::memory::next_definition<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (unmapping::watched() && (flags & MAP_FIXED)) unmapping::will_lose(address, bytes);
  void* const mapped = next(address, bytes, protection, flags, descriptor, offset);
  if ((flags & MAP_FIXED) && mapped != MAP_FAILED) pages::mapped_over(mapped, bytes);
  return mapped;
}

TUTTI_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int descriptor,
                          off64_t offset) noexcept {
  return mmap(address, bytes, protection, flags, descriptor, offset);
}

TUTTI_EXPORT int shmdt(const void* address) noexcept {
  static auto* const next = tutti::memory::next_definition<int(const void*)>("shmdt");
  // How much it is only the kernel knows.
  if (unmapping::watched()) unmapping::will_lose(address, SIZE_MAX);
  const int result = next(address);
  if (result == 0 && pages::are_of_window(address, 1)) pages::detached(address);
  return result;
}

TUTTI_EXPORT void* sbrk(std::intptr_t increment) noexcept {
  if (unmapping::watched() && increment < 0)
    unmapping::will_lose(
        reinterpret_cast<const void*>(unmapping::current_break() + static_cast<std::uintptr_t>(increment)),
        static_cast<std::size_t>(-increment));
  return unmapping::next_sbrk(increment);
}

TUTTI_EXPORT int brk(void* end) noexcept {
  static auto* const next = tutti::memory::next_definition<int(void*)>("brk");
  if (unmapping::watched()) {
    const auto to = reinterpret_cast<std::uintptr_t>(end);
    const std::uintptr_t now = unmapping::current_break();
    if (to < now) unmapping::will_lose(end, now - to);
  }
  return next(end);
}

TUTTI_EXPORT int malloc_trim(std::size_t keep) noexcept {
  static auto* const next = tutti::memory::next_definition<int(std::size_t)>("malloc_trim");
  // It empties pages inside the heap as well.
  if (unmapping::watched()) unmapping::will_lose(nullptr, SIZE_MAX);
  const int trimmed = next(keep);
  if (unmapping::watched()) unmapping::after_release();
  return trimmed;
}
