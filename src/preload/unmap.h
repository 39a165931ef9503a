// What this process unmaps or empties goes from the table of what peers have attached by xpmem (memory/exposures.h), and is
// counted for who remembers what addresses are (memory/devices/host_pages.h). docs/decisions/xpmem.md says which ways
// there are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/exposures.h"
#include "preload/shared.h"

namespace tutti::memory::unmapping {

/// The table of this process; null unless xpmem is in use. Forked children have none.
extern std::atomic<Exposures*> exposures;

/// There is such a table, or changes are counted.
extern std::atomic<bool> is_watched;

inline bool watched() noexcept {
  return is_watched.load(std::memory_order_relaxed);
}

/// From now on, until it is called with nullptr. A call that is under way may still use the old one.
TUTTI_SHARED void watch(Exposures* table);

/// Grows whenever something may have been unmapped, once count_changes() was called.
TUTTI_SHARED extern std::atomic<std::uint64_t> changes;
TUTTI_SHARED void count_changes();

/// Something was unmapped, nobody knows what.
void changed_somewhere() noexcept;

/// The C library's free and realloc unmap without calling munmap by its name, so they are surrounded by these two.
/// usable: what malloc_usable_size says of the block.
void before_release(const void* block, std::size_t usable) noexcept;
void after_release() noexcept;

/// To be called by a thread before it exposes or remembers something: its stack is emptied when it ends.
TUTTI_SHARED void watch_stack_of_this_thread();

}  // namespace tutti::memory::unmapping
