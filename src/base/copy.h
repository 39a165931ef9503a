// Copying bytes between ranks: the C library's memcpy, but for long copies, where that has a trap.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/simulated.h"

namespace tutti {

/// What a core fetches and gives up at once.
inline constexpr std::size_t cache_line_bytes = 64;

namespace detail {
/// From this size on memcpy may choose `rep movsb`.
inline constexpr std::size_t long_copy_bytes = 2048;
/// side_by_side: in four streams.
void copy_long(void* destination, const void* source, std::size_t bytes, bool side_by_side);
}  // namespace detail

/// As memcpy. On some processors `rep movsb`, which the C library takes for long copies, falls from 30 and more GB/s to
/// 3 if the destination begins 1 to 31 bytes after the source modulo 4096: as malloc'ed arrays and pages of a slot do.
inline void copy_bytes(void* destination, const void* source, std::size_t bytes) {
  if constexpr (simulated::on) return simulated::copy(destination, source, bytes, simulated::Move::cached);
  if (bytes < detail::long_copy_bytes)
    std::memcpy(destination, source, bytes);
  else
    detail::copy_long(destination, source, bytes, false);
}

/// copy_bytes() of what another core has written. Four places of the source are fetched faster side by side if that core
/// is far: 64 and 256 KiB in 3.5 and 14 us instead of 4.6 and 17 between cores without a common cache, and 5 % faster
/// with one. Only while the data fits into a private cache, and not between own buffers.
inline void copy_from_peer(void* destination, const void* source, std::size_t bytes) {
  if constexpr (simulated::on) return copy_bytes(destination, source, bytes);
  constexpr std::size_t least = std::size_t{32} << 10, most = std::size_t{256} << 10;
  if (bytes < least || bytes > most)
    copy_bytes(destination, source, bytes);
  else
    detail::copy_long(destination, source, bytes, true);
}

}  // namespace tutti
