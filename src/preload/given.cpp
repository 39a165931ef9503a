#include "preload/given.h"

#include <array>
#include <mutex>
#include <new>

#include "preload/closed_pages.h"
#include "preload/process_window.h"
#include "preload/thread_blocks.h"

namespace tutti::memory::given {

namespace {

/// Of a peer some of whose blocks were taken.
struct Home {
  std::byte* begin = nullptr;  ///< of the view of its window
  std::size_t bytes = 0;
  std::uint64_t returned = 0;
  std::int32_t rank = 0;
};

constexpr std::size_t most_homes = 4096;
constinit std::array<Home, most_homes> homes{};
constinit std::atomic<std::size_t> homes_count{0};
/// Of those who add homes, or make the list of the own window.
constinit std::mutex adding;
constinit std::atomic<bool> in_child{false};

const Home* home_of(const void* block) noexcept {
  for (std::size_t i = homes_count.load(std::memory_order_acquire); i-- > 0;)
    if (static_cast<std::size_t>(static_cast<const std::byte*>(block) - homes[i].begin) < homes[i].bytes)
      return &homes[i];
  return nullptr;
}

/// False: there is no room.
bool add_home(const Place& place, std::byte* view, std::size_t capacity) noexcept {
  const std::lock_guard lock(adding);
  if (home_of(view)) return true;
  const std::size_t count = homes_count.load(std::memory_order_relaxed);
  if (count == most_homes) return false;
  homes[count] = {view, capacity, place.returned, place.home};
  homes_count.store(count + 1, std::memory_order_release);
  const auto begin = reinterpret_cast<std::uintptr_t>(view);
  const std::uintptr_t end = begin + capacity;
  // Each for itself may be seen first: what lies between them only grows.
  serving::Served& served = serving::served;
  if (begin < served.taken_from.load(std::memory_order_relaxed)) served.taken_from.store(begin);
  if (end > served.taken_to.load(std::memory_order_relaxed)) served.taken_to.store(end);
  return true;
}

/// Of the own window; null if there is no room for it.
Returned* own_returned(Window& window) noexcept {
  if (Returned* const there = serving::served.returned.load(std::memory_order_acquire)) return there;
  const std::lock_guard lock(adding);
  if (Returned* const there = serving::served.returned.load(std::memory_order_relaxed)) return there;
  void* const room = window.allocate(sizeof(Returned), alignof(Returned));
  if (!room) return nullptr;
  auto* const made = new (room) Returned;
  serving::served.returned.store(made, std::memory_order_release);
  return made;
}

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  Window* const window = process_window();
  if (!window) return nullptr;
  if (serving::any_returned()) take_back();
  if (void* const block = thread_blocks::take(bytes, 16)) return block;
  return window->allocate(bytes);
}

bool release(void* block) noexcept {
  if (serving::owns(block)) {
    Window& window = *serving::owner();
    if (!process_window() || !thread_blocks::keep(window, block)) window.release(block);
    return true;
  }
  if (!serving::may_be_taken(block) || !is_taken(block)) return false;
  give_back(block);
  return true;
}

bool is_taken(const void* block) noexcept {
  return home_of(block) != nullptr;
}

void give_back(void* block) noexcept {
  if (in_child.load(std::memory_order_relaxed)) return;
  const Home& home = *home_of(block);
  auto* const bytes = static_cast<std::byte*>(block);
  reinterpret_cast<Returned*>(home.begin + home.returned)->push(bytes, static_cast<std::uint64_t>(bytes - home.begin));
}

std::size_t usable_size(const void* block) noexcept {
  if (serving::owns(block)) return serving::owner()->usable_size(block);
  return in_child.load(std::memory_order_relaxed) ? 0 : tutti_window_heap_usable_size(block);
}

bool give(void* block, const To& to, Place& place) noexcept {
  Window* const window = process_window();
  if (!window) return false;
  if (const Home* const home = home_of(block)) {
    place = {home->rank, static_cast<std::uint64_t>(static_cast<std::byte*>(block) - home->begin), usable_size(block),
             home->returned};
    return true;
  }
  if (!window->contains(block)) return false;
  Returned* const returned = own_returned(*window);
  if (!returned) return false;
  place = {Place::own_home, window->offset_of(block), window->usable_size(block), window->offset_of(returned)};
  closed_pages::close(block, place.bytes, to);
  return true;
}

void give_not(void* block) noexcept {
  closed_pages::open(block);
}

void* take_own(const Place& place) noexcept {
  std::byte* const block = process_window()->base() + place.offset;
  closed_pages::open(block);
  return block;
}

void* take(const Place& place, std::byte* view, std::size_t capacity) noexcept {
  std::byte* const block = view + place.offset;
  return home_of(block) || add_home(place, view, capacity) ? block : nullptr;
}

void take_back() noexcept {
  Returned* const returned = serving::served.returned.load(std::memory_order_acquire);
  Window* const window = process_window();
  if (!returned || !window) return;
  returned->take_all(
      window->base(), [](std::byte* block) { closed_pages::open(block); },
      [&](std::byte* block) {
        if (!thread_blocks::keep(*window, block)) window->release(block);
      });
}

void fork_in_child() noexcept {
  in_child.store(true, std::memory_order_relaxed);
}

}  // namespace tutti::memory::given
