// What a rank has copied from another one and to it, for who counts that: tests, and `tutti topo`.
#pragma once

#include <cstdint>

namespace tutti::memory {

/// Between one rank, which copies, and one other; written by the thread that copies.
struct Traffic {
  std::uint64_t bytes_from = 0;  ///< loaded or copied from the other
  std::uint64_t bytes_to = 0;    ///< stored or copied to it
};

}  // namespace tutti::memory
