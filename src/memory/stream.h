// Copies past the caches, for messages that do not fit in them.
#pragma once

#include <cstddef>

namespace tutti::memory {

/// How a copy stores. `cached`: as memcpy. `streaming`: with non-temporal stores, which neither read the destination
/// first nor put it into the caches: a third less traffic, if nobody reads the destination soon. `streaming_to_peers`:
/// so into memory of other ranks only, whose cores would have to give up each of its lines first.
enum class Store { cached, streaming_to_peers, streaming };

/// memcpy by non-temporal stores. The data is visible to whoever sees a flag that is set afterwards, as with memcpy.
/// Where the processor has no such stores this is memcpy.
void stream_copy(void* destination, const void* source, std::size_t bytes);

/// One of many such copies: what it stores is visible only to whoever sees a flag set after stream_fence().
void stream_part(void* destination, const void* source, std::size_t bytes);
void stream_fence();

/// What another core has stored through its caches, or this one has read of it, becomes this core's own, line by line, and
/// stays as it is. Stores of the other core to these lines are then several times as fast as to lines that both have
/// (docs/measurements/who-copies.md). Nobody else may store there meanwhile. For memory whose bytes are all this rank's own.
void take_lines(std::byte* begin, std::size_t bytes);
/// The same for a part of memory whose other parts other ranks use: not of the lines at its ends that it has not whole.
void take_whole_lines(std::byte* begin, std::size_t bytes);

}  // namespace tutti::memory
