// What the program does to pages of the window with the calls that map, unmap, move and protect memory: the window
// notes which pages are not its own any more (memory/window_foreign.cpp).
#pragma once

#include <cstddef>

#include "preload/process_window.h"

namespace tutti::memory::pages {

/// Whether some of these bytes lie in the window's own addresses, and this process owns it.
inline bool are_of_blocks(const void* address, std::size_t bytes) noexcept {
  const std::size_t size = serving::bytes.load(std::memory_order_acquire);
  if (size == 0) return false;
  const std::uintptr_t begin = serving::begin.load(std::memory_order_relaxed);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const bool overlap = at < begin ? begin - at < bytes : at - begin < size;
  return overlap && process_window();
}

/// The same, where it has taken static data over.
inline bool are_of_static_data(const void* address, std::size_t bytes) noexcept {
  const Window* const window = process_window();
  return window && window->spans().touches(address, bytes);
}

inline bool are_of_window(const void* address, std::size_t bytes) noexcept {
  return are_of_blocks(address, bytes) || are_of_static_data(address, bytes);
}

/// Something else lies there now.
inline void mapped_over(const void* address, std::size_t bytes) noexcept {
  if (are_of_window(address, bytes)) process_window()->mapped_over(address, bytes);
}

/// Shared memory that had been attached there is gone, nobody knows how much.
void detached(const void* address) noexcept;

/// In place of the calls of these names, where bytes are of the window. next: the call itself, for the others.
int unmap(void* address, std::size_t bytes, int (*next)(void*, std::size_t)) noexcept;
int advise(void* address, std::size_t bytes, int advice, int (*next)(void*, std::size_t, int)) noexcept;
int advise_static_data(void* address, std::size_t bytes, int advice, int (*next)(void*, std::size_t, int)) noexcept;
void* remap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* to,
            void* (*next)(void*, std::size_t, std::size_t, int, ...)) noexcept;

}  // namespace tutti::memory::pages
