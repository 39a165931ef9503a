// The interposed functions that protect memory or put shared memory in its place, and what those of unmap.cpp
// do where they meet the window. What the C library does inside of its own functions does not come here.
#include "preload/pages.h"

#include <sys/mman.h>
#include <sys/shm.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "memory/pages.h"
#include "preload/next_definition.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace tutti::memory::pages {

namespace {

/// More than any process has.
constexpr std::size_t most_addresses = std::size_t{1} << 56;

using Protect = int(void*, std::size_t, int);

/// Looked up before a handler of SIGSEGV may need it.
Protect* next_mprotect() {
  static auto* const next = next_definition<Protect>("mprotect");
  return next;
}
__attribute__((constructor)) void look_up_early() {
  next_mprotect();
}

bool is_page(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % page_bytes() == 0;
}

std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, page_bytes());
}

/// What of [address, address + bytes) lies before the window, in it, and behind it.
struct Parts {
  std::byte* begin;
  std::size_t before, within, behind;

  Parts(const Window& window, void* address, std::size_t bytes)
      : Parts(reinterpret_cast<std::uintptr_t>(window.base()), window.capacity(), address, bytes) {}
  Parts(std::uintptr_t base, std::size_t capacity, void* address, std::size_t bytes)
      : begin(static_cast<std::byte*>(address)) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    before = at < base ? base - at : 0;
    within = std::min(bytes - before, capacity - (at + before - base));
    behind = bytes - before - within;
  }
  /// The same of a stretch of static data, of which some of the bytes are.
  static Parts of_static_data(const Window& window, void* address, std::size_t bytes) {
    WindowSpans::Span last;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    window.spans().for_each_within(at, at + bytes, [&](const WindowSpans::Span& span) { last = span; });
    return {last.begin, last.end - last.begin, address, bytes};
  }
  std::byte* first() const { return begin + before; }
  std::byte* last() const { return first() + within; }
};

/// Whether mremap is to leave empty pages where it has moved others away.
bool stays_behind([[maybe_unused]] int flags) {
#ifdef MREMAP_DONTUNMAP
  return (flags & MREMAP_DONTUNMAP) != 0;
#else
  return false;
#endif
}

/// Moves pages of the window to other memory; MAP_FAILED if there is none.
void* move_out(Window& window, void* from, std::size_t bytes, std::size_t new_bytes, int flags, void* to) noexcept {
  const int fixed = flags & MREMAP_FIXED ? MAP_FIXED : 0;
  void* const target = mmap(to, new_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  if (target == MAP_FAILED) return target;
  if (!window.move_out(from, std::min(bytes, new_bytes), target)) {
    const int error = errno;
    munmap(target, new_bytes);
    errno = error;
    return MAP_FAILED;
  }
  if (stays_behind(flags))
    window.empty_pages(from, bytes, MADV_DONTNEED);
  else
    window.unmap(from, bytes);
  return target;
}

}  // namespace

void detached(const void* address) noexcept {
  const Window& window = *process_window();
  auto* at = static_cast<std::byte*>(const_cast<void*>(address));
  // A hole would be filled by the kernel (see Window::unmap). It ends where something is mapped.
  while (window.contains(at) && mmap(at, page_bytes(), PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == at)
    at += page_bytes();
}

int unmap(void* address, std::size_t bytes, int (*next)(void*, std::size_t)) noexcept {
  Window& window = *process_window();
  const Parts parts(window, address, bytes);
  if (!is_page(address) || bytes == 0) return next(address, bytes);
  // What is behind comes first: the kernel refuses a range that reaches beyond all addresses, and then takes nothing.
  if (parts.behind && next(parts.last(), parts.behind) != 0) return -1;
  if (parts.before && next(parts.begin, parts.before) != 0) return -1;
  return window.unmap(parts.first(), parts.within) ? 0 : -1;
}

int advise(void* address, std::size_t bytes, int advice, int (*next)(void*, std::size_t, int)) noexcept {
  Window& window = *process_window();
  const Parts parts(window, address, bytes);
  // In private memory, for which the program takes its blocks, this is how pages are given back and become zero.
  const bool gives_back = advice == MADV_DONTNEED || advice == MADV_FREE;
  const bool wraps = bytes > UINTPTR_MAX - page_bytes() - reinterpret_cast<std::uintptr_t>(address);
  if (advice == MADV_HUGEPAGE) huge_pages_are_asked_for();
  if (!is_page(address) || wraps || (!gives_back && advice != MADV_DOFORK)) return next(address, bytes, advice);
  if (parts.before && next(parts.begin, parts.before, advice) != 0) return -1;
  if (gives_back && !window.empty_pages(parts.first(), parts.within, advice)) return -1;
  if (advice == MADV_DOFORK) {
    // A child must never have the window's own pages: it would write to this rank's arrays.
    const auto begin = reinterpret_cast<std::uintptr_t>(parts.first());
    window.foreign().for_each_piece(begin, begin + parts.within, [&](auto from, auto to, const auto* range) {
      if (range && range->value == Window::replaced) next(reinterpret_cast<void*>(from), to - from, advice);
      return true;
    });
  }
  return parts.behind ? next(parts.last(), parts.behind, advice) : 0;
}

int advise_static_data(void* address, std::size_t bytes, int advice, int (*next)(void*, std::size_t, int)) noexcept {
  const bool gives_back = advice == MADV_DONTNEED || advice == MADV_FREE;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (advice == MADV_DOFORK) return 0;  // as for blocks
  if (!is_page(address) || !gives_back) return next(address, bytes, advice);
  // What lies around it; the contents of shared pages stay.
  if (next(address, bytes, MADV_DONTNEED) != 0) return -1;
  Window& window = *process_window();
  bool emptied = true;
  window.spans().for_each_within(at, at + bytes, [&](const WindowSpans::Span& span) {
    emptied = window.empty_pages(reinterpret_cast<void*>(span.begin), span.end - span.begin, advice) && emptied;
  });
  return emptied ? 0 : -1;
}

void* remap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* to,
            void* (*next)(void*, std::size_t, std::size_t, int, ...)) noexcept {
  Window& window = *process_window();
  bytes = whole_pages(bytes);
  new_bytes = whole_pages(new_bytes);
  const Parts parts =
      are_of_blocks(address, bytes) ? Parts(window, address, bytes) : Parts::of_static_data(window, address, bytes);
  const auto refuse = [](int error) {
    errno = error;
    return MAP_FAILED;
  };
  if (!is_page(address) || new_bytes == 0) return next(address, bytes, new_bytes, flags, to);
  // As for private memory: there is no second mapping of the same pages.
  if (bytes == 0) return refuse(EINVAL);
  if (parts.before || parts.behind) return refuse(EFAULT);
  const bool may_move = (flags & MREMAP_MAYMOVE) != 0;
  if (flags & MREMAP_FIXED) {
    const auto source = reinterpret_cast<std::uintptr_t>(address);
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const bool overlap = target - source < bytes || source - target < new_bytes;
    if (!may_move || !is_page(to) || overlap || new_bytes > most_addresses) return refuse(EINVAL);
    return move_out(window, address, bytes, new_bytes, flags, to);
  }
  if (new_bytes <= bytes && !stays_behind(flags)) {
    if (new_bytes < bytes) window.unmap(static_cast<std::byte*>(address) + new_bytes, bytes - new_bytes);
    return address;
  }
  // Behind it lie other pages of the window.
  if (!may_move) return refuse(ENOMEM);
  return move_out(window, address, bytes, new_bytes, flags, nullptr);
}

}  // namespace tutti::memory::pages

namespace pages = tutti::memory::pages;

TUTTI_EXPORT int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  const int result = pages::next_mprotect()(address, bytes, protection);
  if (result == 0 && pages::are_of_window(address, bytes)) [[unlikely]]
    tutti::memory::process_window()->protected_as(address, bytes, protection);
  return result;
}

TUTTI_EXPORT int pkey_mprotect(void* address, std::size_t bytes, int protection, int key) noexcept {
  static auto* const next = tutti::memory::next_definition<int(void*, std::size_t, int, int)>("pkey_mprotect");
  const int result = next(address, bytes, protection, key);
  if (result == 0 && pages::are_of_window(address, bytes)) [[unlikely]]
    tutti::memory::process_window()->protected_as(address, bytes, protection, key);
  return result;
}

TUTTI_EXPORT void* shmat(int segment, const void* address, int flags) noexcept {
  static auto* const next = tutti::memory::next_definition<void*(int, const void*, int)>("shmat");
  void* const attached = next(segment, address, flags);
  if (attached == MAP_FAILED || !address) return attached;
  shmid_ds status{};
  if (shmctl(segment, IPC_STAT, &status) == 0) pages::mapped_over(attached, status.shm_segsz);
  return attached;
}

TUTTI_EXPORT int remap_file_pages(void* address, std::size_t bytes, int protection, std::size_t offset,
                                  int flags) noexcept {
  static auto* const next =
      tutti::memory::next_definition<int(void*, std::size_t, int, std::size_t, int)>("remap_file_pages");
  if (!pages::are_of_window(address, bytes)) return next(address, bytes, protection, offset, flags);
  // For private memory, for which the program takes its blocks, there is no such call.
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const bool theirs = tutti::memory::process_window()->foreign().for_each_piece(
      begin, begin + bytes,
      [](auto, auto, const auto* range) { return range && range->value == tutti::memory::Window::replaced; });
  if (theirs) return next(address, bytes, protection, offset, flags);
  errno = EINVAL;
  return -1;
}
