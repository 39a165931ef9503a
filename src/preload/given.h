// Blocks that have changed their owner without a copy (TUTTI_Give): what this process was given of its peers' windows,
// and what of its own window others have.
//
// A block stays where it is, in the window that it came from (its home). Who has it sees it through the view of that
// window. When it is freed it goes into the home's list (memory/returned.h), from which the home takes it back when it
// allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/returned.h"
#include "memory/window_heap.h"
#include "preload/shared.h"

namespace tutti::memory {

namespace given {

/// Where a block lies, for every process of the node.
struct Place {
  std::int32_t home = own_home;  ///< node rank; own_home: this process, which does not know it here
  std::uint64_t offset = 0;      ///< in the home's window
  std::uint64_t bytes = 0;       ///< that may be used of it
  std::uint64_t returned = 0;    ///< of the home's list, there too
  static constexpr std::int32_t own_home = -1;
};

/// Of whom a block is from now on, in the words of the program.
struct To {
  int rank, tag;
};

/// A block of the own window; nullptr if there is none, or no room in it.
TUTTI_SHARED void* allocate(std::size_t bytes) noexcept;
/// Frees a block of the own window or one that was taken. False, with nothing done, if it is neither.
TUTTI_SHARED bool release(void* block) noexcept;

/// Whether this process was given the block; see serving::may_be_taken(). Also true in a forked child, which does not have
/// it.
TUTTI_SHARED bool is_taken(const void* block) noexcept;
/// Of such a block. It goes to its home; in a forked child nothing happens.
void give_back(void* block) noexcept;
/// Bytes that may be used of a block that is the window's or was taken; 0 in a forked child.
TUTTI_SHARED std::size_t usable_size(const void* block) noexcept;

/// The block, which is the window's or was taken, is no longer this process's. False if that cannot be.
TUTTI_SHARED bool give(void* block, const To& to, Place& place) noexcept;
/// It is this process's all the same: nobody was told of it.
TUTTI_SHARED void give_not(void* block) noexcept;
/// A block of the own window is this process's again.
TUTTI_SHARED void* take_own(const Place& place) noexcept;
/// A block of a peer's window is this process's, which has the window's `capacity` at `view`; of that, all that needs()
/// tells is mapped. nullptr if there are too many peers.
TUTTI_SHARED void* take(const Place& place, std::byte* view, std::size_t capacity) noexcept;
/// Calls `visit(offset, bytes)` for what of the home's window whoever takes the block will touch.
template <class Visit>
bool needs(const Place& place, Visit visit) {
  constexpr std::size_t unit = TUTTI_WINDOW_HEAP_UNIT;
  return visit(place.offset, place.bytes) && visit(place.offset / unit * unit, std::size_t{TUTTI_WINDOW_HEAP_HEAD}) &&
         visit(place.returned, sizeof(Returned));
}

/// Takes what peers have returned out of the list.
TUTTI_SHARED void take_back() noexcept;

/// The views of peers are not there, nor are there peers.
void fork_in_child() noexcept;

}  // namespace given

}  // namespace tutti::memory
