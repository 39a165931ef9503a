// Blocks of the window that a thread has freed and may have again, without the window's lock and what goes with it.
// Threads that allocate again and again meet at neither.
#pragma once

#include <cstddef>

#include "memory/window.h"

namespace tutti::memory::thread_blocks {

/// Each thread may keep so many bytes from now on; 0: none. To be called once, as the window is made.
void start(std::size_t most_bytes) noexcept;

/// A block of at least `bytes` bytes at a multiple of `alignment`, of unknown contents; nullptr: the thread has none.
void* take(std::size_t bytes, std::size_t alignment) noexcept;

/// Whether the thread keeps this block of the window, which is free from now on. errno is kept.
bool keep(Window& window, void* block) noexcept;

}  // namespace tutti::memory::thread_blocks
