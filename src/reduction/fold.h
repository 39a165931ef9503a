// Combining several sources by an operator that takes two and overwrites the second one, as a program's own do.
#pragma once

#include <cstddef>

#include "base/copy.h"

namespace tutti::reduction {

/// Private memory for the partial results of fold(), of the bytes of one source each.
struct FoldRoom {
  void* even;
  void* odd;
};

/// destination = ((sources[0] op sources[1]) op sources[2]) op ..., in the order of a Kernel. `combine(left, right)` puts
/// left op right into `right`, all `bytes` of it. source_count is at least 1; `destination` may be exactly one of the
/// sources, and no source but that is changed.
///
/// From the right, one copy would do for all steps, since each would overwrite what the one before has left. But
/// prefixes come from the left, and who makes a prefix at once and who makes it from the one before must get the same
/// bits. So each source is copied before it is overwritten, and the last one straight to where the result belongs.
template <class Combine>
void fold(void* destination, const void* const* sources, std::size_t source_count, std::size_t bytes, FoldRoom room,
          Combine combine) {
  const void* left = sources[0];
  for (std::size_t i = 1; i < source_count; ++i) {
    const bool last = i + 1 == source_count;
    void* const right = last && destination != left ? destination : i % 2 == 0 ? room.even : room.odd;
    if (right != sources[i]) copy_bytes(right, sources[i], bytes);
    combine(left, right);
    left = right;
  }
  if (left != destination) copy_bytes(destination, left, bytes);
}

}  // namespace tutti::reduction
