// Copying bytes from one rank's memory to another's.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/copy.h"

namespace tutti::reduction {

namespace detail {

/// Copies `bytes`, from one to two times the size of Word, as two words that may overlap: no loop, one branch
/// for the caller.
template <class Word>
inline void copy_two(unsigned char* destination, const unsigned char* source, std::size_t bytes) noexcept {
  Word first;
  Word last;
  std::memcpy(&first, source, sizeof(Word));
  std::memcpy(&last, source + bytes - sizeof(Word), sizeof(Word));
  std::memcpy(destination, &first, sizeof(Word));
  std::memcpy(destination + bytes - sizeof(Word), &last, sizeof(Word));
}

struct Word16 {
  unsigned char bytes[16];
};
struct Word32 {
  unsigned char bytes[32];
};

}  // namespace detail

/// Copies `bytes` bytes. The two may be the same array; they may not overlap otherwise. Any alignment.
///
/// Up to 64 bytes are copied in line: the C library's function costs about 3 ns a call, most of it for the
/// call, these 1 to 1.5 (bench_reduction shows both). For more see copy_bytes().
inline void copy(void* destination, const void* source, std::size_t bytes) noexcept {
  if constexpr (simulated::on) return copy_bytes(destination, source, bytes);
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  if (bytes > 64) {
    if (to != from) copy_bytes(to, from, bytes);
  } else if (bytes > 32) {
    detail::copy_two<detail::Word32>(to, from, bytes);
  } else if (bytes > 16) {
    detail::copy_two<detail::Word16>(to, from, bytes);
  } else if (bytes >= 8) {
    detail::copy_two<unsigned long long>(to, from, bytes);
  } else if (bytes >= 4) {
    detail::copy_two<unsigned int>(to, from, bytes);
  } else if (bytes >= 2) {
    detail::copy_two<unsigned short>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace tutti::reduction
