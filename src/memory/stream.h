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

}  // namespace tutti::memory
