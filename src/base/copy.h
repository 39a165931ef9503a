// Copying bytes between ranks: the C library's memcpy, but for long copies, where that has a trap.
#pragma once

#include <cstddef>
#include <cstring>

namespace tutti {

namespace detail {
/// From this size on memcpy may choose `rep movsb`.
inline constexpr std::size_t long_copy_bytes = 2048;
void copy_long(void* destination, const void* source, std::size_t bytes);
}  // namespace detail

/// As memcpy. On some processors `rep movsb`, which the C library takes for long copies, falls from 30 and more GB/s to
/// 3 if the destination begins 1 to 31 bytes after the source modulo 4096: as malloc'ed arrays and pages of a slot do.
inline void copy_bytes(void* destination, const void* source, std::size_t bytes) {
  if (bytes < detail::long_copy_bytes)
    std::memcpy(destination, source, bytes);
  else
    detail::copy_long(destination, source, bytes);
}

}  // namespace tutti
