#include "preload/thread_blocks.h"

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <new>

namespace tutti::memory::thread_blocks {

namespace {

/// What one thread keeps, in a block of the window.
struct Kept {
  struct Class {
    void* last = nullptr;  ///< freed last; in its first word is the one before
    std::size_t bytes_each = 0;
  };
  // First, since there are the classes that no block of the window is of: who stores to the first line of each page of
  // many blocks has no room in the nearest cache for other first lines.
  Class of[Window::classes] = {};
  Window& window;
  std::size_t bytes = 0;
};
/// Of a size of which half of the blocks begin in the midst of a page, and none goes beyond one.
constexpr std::size_t room_for_kept = 2048;
static_assert(sizeof(Kept) <= room_for_kept);

constinit std::size_t limit = 0;
constinit pthread_key_t at_end{};

__attribute__((tls_model("initial-exec"))) constinit thread_local Kept* kept = nullptr;
/// The thread is at its end: what is still freed goes back at once.
__attribute__((tls_model("initial-exec"))) constinit thread_local bool ended = false;

void*& before(void* block) noexcept {
  return *static_cast<void**>(block);
}

void give_all_back(void* of_thread) noexcept {
  auto& all = *static_cast<Kept*>(of_thread);
  kept = nullptr;
  ended = true;
  for (Kept::Class& each : all.of)
    while (void* const block = each.last) {
      each.last = before(block);
      all.window.release(block);
    }
  all.window.release(&all);
}

[[gnu::noinline]] Kept* kept_by_this_thread(Window& window) noexcept {
  const int error = errno;
  void* const room = ended ? nullptr : window.allocate(room_for_kept);
  if (room) {
    // It may allocate.
    if (pthread_setspecific(at_end, room) == 0)
      kept = new (room) Kept{.window = window};
    else
      window.release(room);
  }
  errno = error;
  return kept;
}

}  // namespace

void start(std::size_t most_bytes) noexcept {
  if (pthread_key_create(&at_end, give_all_back) == 0) limit = most_bytes;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (!kept) return nullptr;
  const int size_class = Window::class_of(bytes);
  if (size_class < 0) return nullptr;
  Kept::Class& of = kept->of[size_class];
  void* const block = of.last;
  if (!block || reinterpret_cast<std::uintptr_t>(block) % alignment != 0) return nullptr;
  of.last = before(block);
  kept->bytes -= of.bytes_each;
  return block;
}

bool keep(Window& window, void* block) noexcept {
  if (limit == 0) return false;
  const int size_class = Window::class_of_block(block);
  if (size_class < 0) return false;
  const std::size_t bytes = window.usable_size(block);
  if (window.foreign().touches(block, bytes)) return false;
  if (!kept && !kept_by_this_thread(window)) return false;
  if (kept->bytes + bytes > limit) return false;
  Kept::Class& of = kept->of[size_class];
  before(block) = of.last;
  of.last = block;
  of.bytes_each = bytes;
  kept->bytes += bytes;
  return true;
}

}  // namespace tutti::memory::thread_blocks
