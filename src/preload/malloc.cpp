// The interposed malloc family. Requests of at least TUTTI_WINDOW_MIN bytes of a rank come from its window;
// all others, and all of processes that are no ranks, go to the next definition in link order, so that
// another preloaded allocator keeps its place. What was allocated is told apart by its address.
//
// The functions run before any constructor and after any destructor, so that all state here is
// constant-initialised.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/pages.h"
#include "preload/given.h"
#include "preload/process_window.h"
#include "preload/thread_blocks.h"
#include "preload/unmap.h"

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using tutti::memory::page_bytes;
using tutti::memory::round_up;
using tutti::memory::Window;
namespace given = tutti::memory::given;
namespace serving = tutti::memory::serving;
namespace thread_blocks = tutti::memory::thread_blocks;
namespace unmapping = tutti::memory::unmapping;

/// The next definitions in link order.
struct Next {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
  bool usable_size_known;  ///< the last one is of the allocator that malloc belongs to
};

constinit Next next_functions{};
constinit std::atomic<bool> next_known{false};
/// While the next definitions are looked up, which is at the first call of all, when there is one thread.
constinit bool looking_up = false;

/// dlsym may itself allocate before it has found anything: that comes from here and is never taken back.
constexpr std::size_t bootstrap_bytes = std::size_t{32} * 1024;
alignas(16) constinit std::byte bootstrap[bootstrap_bytes]{};
constinit std::size_t bootstrap_used = 0;

bool from_bootstrap(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(bootstrap) < bootstrap_bytes;
}

/// Zeroed memory, preceded by its size in a 16-byte header.
void* bootstrap_allocate(std::size_t bytes) {
  if (bytes > bootstrap_bytes) return nullptr;
  const std::size_t needed = (bytes + 31) / 16 * 16;
  if (needed > bootstrap_bytes - bootstrap_used) return nullptr;
  std::byte* const header = bootstrap + bootstrap_used;
  bootstrap_used += needed;
  std::memcpy(header, &bytes, sizeof bytes);
  return header + 16;
}

std::size_t bootstrap_size(const void* block) {
  std::size_t bytes = 0;
  std::memcpy(&bytes, static_cast<const std::byte*>(block) - 16, sizeof bytes);
  return bytes;
}

template <class Function>
void look_up(Function*& function, const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  std::memcpy(&function, &found, sizeof found);
}

/// Whether two functions are of one library.
bool are_together(const void* one, const void* other) {
  Dl_info first{}, second{};
  return one && other && dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

[[gnu::noinline]] void look_up_all() {
  looking_up = true;
  look_up(next_functions.malloc, "malloc");
  look_up(next_functions.free, "free");
  look_up(next_functions.calloc, "calloc");
  look_up(next_functions.realloc, "realloc");
  look_up(next_functions.memalign, "memalign");
  look_up(next_functions.aligned_alloc, "aligned_alloc");
  look_up(next_functions.posix_memalign, "posix_memalign");
  look_up(next_functions.valloc, "valloc");
  look_up(next_functions.pvalloc, "pvalloc");
  look_up(next_functions.malloc_usable_size, "malloc_usable_size");
  // Preloaded allocators may be without it; what the C library's says of their blocks is nonsense.
  next_functions.usable_size_known = are_together(reinterpret_cast<void*>(next_functions.malloc),
                                                  reinterpret_cast<void*>(next_functions.malloc_usable_size));
  looking_up = false;
  next_known.store(true, std::memory_order_release);
}

/// nullptr while the next definitions are being looked up.
const Next* next() {
  if (!next_known.load(std::memory_order_acquire)) {
    if (looking_up) return nullptr;
    look_up_all();
  }
  return &next_functions;
}

/// The next free, or realloc to `bytes`, of a block while peers may have attached it.
[[gnu::noinline]] void free_watched(const Next& n, void* block) {
  unmapping::before_release(block, n.usable_size_known ? n.malloc_usable_size(block) : SIZE_MAX / 2);
  n.free(block);
  unmapping::after_release();
}
[[gnu::noinline]] void* realloc_watched(const Next& n, void* block, std::size_t bytes) {
  unmapping::before_release(block, n.usable_size_known ? n.malloc_usable_size(block) : SIZE_MAX / 2);
  void* const moved = n.realloc(block, bytes);
  unmapping::after_release();
  return moved;
}

void* plain_malloc(std::size_t bytes) {
  const Next* const n = next();
  return n ? n->malloc(bytes) : bootstrap_allocate(bytes);
}

/// A block of the window, or nullptr: too small, no window, or no room.
inline void* from_window(std::size_t bytes, std::size_t alignment, bool zero) {
  if (bytes < serving::from_bytes.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  if (bytes >= serving::below_bytes.load(std::memory_order_relaxed)) return nullptr;
  if (void* const block = thread_blocks::take(bytes, alignment)) return zero ? std::memset(block, 0, bytes) : block;
  Window* const window = serving::window_for_request();
  // The first request makes the window, and may find that it is to serve nothing.
  if (!window || !serving::serves(bytes)) return nullptr;
  if (serving::any_returned()) [[unlikely]] {
    given::take_back();
    if (void* const block = thread_blocks::take(bytes, alignment)) return zero ? std::memset(block, 0, bytes) : block;
  }
  return zero ? window->allocate_zeroed(bytes, alignment) : window->allocate(bytes, alignment);
}

// allocate, give_back and resize are called by ours: by their names, an allocator before ours would be.

void* allocate(std::size_t bytes) {
  if (void* const block = from_window(bytes, 16, false)) return block;
  return plain_malloc(bytes);
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

/// Moves a block to new memory of the other kind and releases the old with `release`. nullptr if `to` is.
template <class Release>
void* move_block(void* to, void* from, std::size_t bytes, Release release) {
  if (!to) return nullptr;
  std::memcpy(to, from, bytes);
  release(from);
  return to;
}

void* reallocate_from_window(void* block, std::size_t bytes) {
  Window* const window = serving::owner();
  if (bytes == 0) {
    window->release(block);
    return nullptr;
  }
  const bool stays = serving::serves(bytes);
  if (stays)
    if (void* const same_kind = window->reallocate(block, bytes)) return same_kind;
  const std::size_t usable = window->usable_size(block);
  if (usable == 0) return no_memory();  // a child without a copy of the window
  void* const moved =
      move_block(plain_malloc(bytes), block, std::min(bytes, usable), [&](void* old) { window->release(old); });
  return moved ? moved : bytes <= usable ? block : no_memory();
}

/// Of a block that a peer has given to this process.
void* reallocate_taken(void* block, std::size_t bytes) {
  if (bytes == 0) {
    given::give_back(block);
    return nullptr;
  }
  const std::size_t usable = given::usable_size(block);
  if (usable == 0) return no_memory();  // in a child
  if (bytes <= usable && bytes >= usable / 2) return block;
  void* const moved = move_block(allocate(bytes), block, std::min(bytes, usable), given::give_back);
  return moved ? moved : bytes <= usable ? block : no_memory();
}

void* reallocate_from_bootstrap(void* block, std::size_t bytes) {
  return move_block(plain_malloc(bytes), block, std::min(bytes, bootstrap_size(block)), [](void*) {});
}

void give_back(void* block) {
  if (!block) return;
  if (serving::owns(block)) {
    // Of blocks that are not served any more, as in a forked child, none is kept.
    Window& window = *serving::owner();
    if (serving::from_bytes.load(std::memory_order_relaxed) == SIZE_MAX || !thread_blocks::keep(window, block))
      window.release(block);
    return;
  }
  if (serving::may_be_taken(block) && given::is_taken(block)) [[unlikely]]
    return given::give_back(block);
  if (from_bootstrap(block)) return;
  if (const Next* const n = next()) {
    if (unmapping::watched()) [[unlikely]]
      return free_watched(*n, block);
    n->free(block);
  }
}

void* resize(void* block, std::size_t bytes) {
  if (!block) return allocate(bytes);
  if (serving::owns(block)) return reallocate_from_window(block, bytes);
  if (serving::may_be_taken(block) && given::is_taken(block)) [[unlikely]]
    return reallocate_taken(block, bytes);
  if (from_bootstrap(block)) return reallocate_from_bootstrap(block, bytes);
  const Next* const n = next();
  if (!n) return nullptr;
  if (n->usable_size_known)
    if (void* const moved = from_window(bytes, 16, false))
      return move_block(moved, block, std::min(bytes, n->malloc_usable_size(block)), give_back);
  if (unmapping::watched()) [[unlikely]]
    return realloc_watched(*n, block, bytes);
  return n->realloc(block, bytes);
}

}  // namespace

TUTTI_EXPORT void* malloc(std::size_t bytes) noexcept {
  return allocate(bytes);
}

TUTTI_EXPORT void free(void* block) noexcept {
  give_back(block);
}

TUTTI_EXPORT void cfree(void* block) noexcept {
  give_back(block);
}

TUTTI_EXPORT void* calloc(std::size_t count, std::size_t bytes_each) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) return no_memory();
  if (void* const block = from_window(bytes, 16, true)) return block;
  const Next* const n = next();
  return n ? n->calloc(count, bytes_each) : bootstrap_allocate(bytes);
}

TUTTI_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  return resize(block, bytes);
}

TUTTI_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes_each) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) return no_memory();
  return resize(block, bytes);
}

TUTTI_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (std::has_single_bit(alignment))
    if (void* const block = from_window(bytes, alignment, false)) return block;
  const Next* const n = next();
  return n && n->memalign ? n->memalign(alignment, bytes) : no_memory();
}

TUTTI_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (std::has_single_bit(alignment))
    if (void* const block = from_window(bytes, alignment, false)) return block;
  const Next* const n = next();
  return n && n->aligned_alloc ? n->aligned_alloc(alignment, bytes) : no_memory();
}

TUTTI_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (std::has_single_bit(alignment) && alignment % sizeof(void*) == 0)
    if (void* const block = from_window(bytes, alignment, false)) {
      *result = block;
      return 0;
    }
  const Next* const n = next();
  return n && n->posix_memalign ? n->posix_memalign(result, alignment, bytes) : ENOMEM;
}

TUTTI_EXPORT void* valloc(std::size_t bytes) noexcept {
  if (void* const block = from_window(bytes, page_bytes(), false)) return block;
  const Next* const n = next();
  return n && n->valloc ? n->valloc(bytes) : no_memory();
}

TUTTI_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  if (bytes <= SIZE_MAX / 2)
    if (void* const block = from_window(round_up(bytes, page_bytes()), page_bytes(), false)) return block;
  const Next* const n = next();
  return n && n->pvalloc ? n->pvalloc(bytes) : no_memory();
}

TUTTI_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (!block) return 0;
  if (serving::owns(block)) return serving::owner()->usable_size(block);
  if (serving::may_be_taken(block) && given::is_taken(block)) return given::usable_size(block);
  if (from_bootstrap(block)) return bootstrap_size(block);
  const Next* const n = next();
  return n && n->malloc_usable_size ? n->malloc_usable_size(block) : 0;
}
