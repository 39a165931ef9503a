// With TUTTI_CHECK=1: the pages of a block that was given away are closed to this process until it has the block again.
// Who touches them all the same is told what was done with the block, and then meets what the program does on SIGSEGV.
//
// Only of the own window, and whole pages only: other blocks may begin or end within the first and the last one.
#pragma once

#include <cstddef>

namespace tutti::memory {

namespace given {
struct To;
}

namespace closed_pages {

void close(void* block, std::size_t bytes, const given::To& to) noexcept;
/// Nothing if they are not closed.
void open(void* block) noexcept;

}  // namespace closed_pages

}  // namespace tutti::memory
