// What this process unmaps or empties goes from the table of what peers have attached by xpmem (memory/exposures.h):
// docs/decisions/xpmem.md says which ways there are.
#pragma once

#include <atomic>
#include <cstddef>

#include "memory/exposures.h"
#include "preload/shared.h"

namespace tutti::memory::unmapping {

/// The table of this process; null unless xpmem is in use. Forked children have none.
extern std::atomic<Exposures*> exposures;

inline bool watched() noexcept {
  return exposures.load(std::memory_order_relaxed) != nullptr;
}

/// From now on, until it is called with nullptr. A call that is under way may still use the old one.
TUTTI_SHARED void watch(Exposures* table);

/// The C library's free and realloc unmap without calling munmap by its name, so they are surrounded by these two.
/// usable: what malloc_usable_size says of the block.
void before_release(const void* block, std::size_t usable) noexcept;
void after_release() noexcept;

/// To be called by a thread before it exposes something: its stack is emptied when it ends.
TUTTI_SHARED void watch_stack_of_this_thread();

}  // namespace tutti::memory::unmapping
