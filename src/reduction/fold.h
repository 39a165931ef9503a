// Combining several sources by an operator that takes two and overwrites the second one, as a program's own do.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>

#include "base/copy.h"
#include "reduction/order.h"

namespace tutti::reduction {

/// destination = sources[0] op sources[1] op sources[2] op ..., in the order of a Kernel. `combine(left, right)` puts left
/// op right into `right`, all `bytes` of it. source_count is at least 1; `destination` may be exactly one of the sources,
/// and no source but that is changed. rooms: private memory for partial results, most_operands(source_count) times of the
/// bytes of one source; the pointers are exchanged.
///
/// From the right, one copy would do for all steps in sequence, since each would overwrite what the one before has left.
/// But prefixes come from the left. So each source is copied before it is overwritten, and the last one straight to where
/// the result belongs.
template <class Combine>
void fold(void* destination, const void* const* sources, std::size_t source_count, std::size_t bytes, Order order,
          void** rooms, const Combine& combine) {
  const void* values[std::numeric_limits<std::size_t>::digits];
  std::size_t left = source_count - 1;  // steps
  reduction::combine(
      source_count, order, [&](std::size_t source, std::size_t at) { values[at] = sources[source]; },
      [&](std::size_t at) {
        const bool last = --left == 0;
        void* right = rooms[at + 1];
        if (values[at + 1] != right) {
          if (last && destination != values[at]) right = destination;
          if (right != values[at + 1]) copy_bytes(right, values[at + 1], bytes);
        }
        combine(values[at], right);
        if (right == rooms[at + 1]) std::swap(rooms[at], rooms[at + 1]);
        values[at] = right;
      });
  if (values[0] != destination) copy_bytes(destination, values[0], bytes);
}

}  // namespace tutti::reduction
