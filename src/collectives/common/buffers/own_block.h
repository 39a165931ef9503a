// A rank's own block, from its send to its receive buffer. Who fetches the blocks of others copies it before, as soon
// as it has said where its blocks are: nobody waits for it then, and what the program has just written is still in the
// cache, out of which the blocks of others push it (and from which peers fetch the lines that they read).
#pragma once

#include <cstddef>

#include "base/copy.h"
#include "memory/stream.h"

namespace tutti {

/// source == destination: it is where it belongs, there is nothing to copy.
inline void copy_own_block(std::byte* destination, const std::byte* source, std::size_t bytes, memory::Store store) {
  if (bytes == 0 || source == destination) return;
  if (store == memory::Store::streaming)
    memory::stream_copy(destination, source, bytes);
  else
    copy_bytes(destination, source, bytes);
}

}  // namespace tutti
