// What a rank stores into another's memory and would go past that one's caches may go through them after all. Which is
// faster depends on the processor, and on whether the two share a cache at present: so it is one more way to find out
// (Ways). With a common L3 an AMD EPYC 7003 stores 64 KiB in 2.8 us through the caches and 3.4 past them, a 9004 in 9
// and 1.3; without one both are two to ten times faster past them.
#pragma once

#include "engine/ways.h"
#include "memory/stream.h"

namespace tutti {

/// Storing as one would comes first, what does not store second, storing through the caches third. Where these have two
/// ranks meet (meeting.h), they may also share the work without looking at each other, and store past the caches.
inline constexpr int way_stores = 0, way_reads = 1, way_through_caches = 2, way_apart = 3;

/// How many of them there are.
inline int ways_of(memory::Store store) {
  return store == memory::Store::streaming_to_peers ? 3 : 2;
}

/// How the way stores where all would store like this.
inline memory::Store store_of(int way, memory::Store store) {
  return way == way_through_caches ? memory::Store::cached : store;
}

}  // namespace tutti
