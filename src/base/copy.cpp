#include "base/copy.h"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tutti::detail {

#if defined(__x86_64__)

namespace {

// Both begin at an aligned destination; what is left at the end, less than a step, is the caller's.

__attribute__((target("avx"))) void by_32(char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 128) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32));
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 64));
    const __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 96));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + at), a);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + at + 32), b);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + at + 64), c);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + at + 96), d);
  }
  _mm256_zeroupper();
}

/// Four streams of `bytes` each, one behind the other in memory, side by side.
__attribute__((target("avx"))) void four_streams(char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) {
    for (std::size_t stream = 0; stream < 4; ++stream) {
      char* const there = to + stream * bytes + at;
      const char* const here = from + stream * bytes + at;
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here + 32));
      _mm256_store_si256(reinterpret_cast<__m256i*>(there), a);
      _mm256_store_si256(reinterpret_cast<__m256i*>(there + 32), b);
    }
  }
  _mm256_zeroupper();
}

void by_16(char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 32));
    const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 48));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + at), a);
    _mm_store_si128(reinterpret_cast<__m128i*>(to + at + 16), b);
    _mm_store_si128(reinterpret_cast<__m128i*>(to + at + 32), c);
    _mm_store_si128(reinterpret_cast<__m128i*>(to + at + 48), d);
  }
}

}  // namespace

void copy_long(void* destination, const void* source, std::size_t bytes, bool side_by_side) {
  static const bool avx = __builtin_cpu_supports("avx");
  constexpr std::size_t step = 128, page = 4096;
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
  const auto copied = [&](std::size_t count) {
    to += count;
    from += count;
    bytes -= count;
  };
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 31;
  std::memcpy(to, from, head);
  copied(head);
  if (avx && side_by_side) {
    // With anything else than whole pages between them nothing is gained.
    const std::size_t stream = bytes / 4 / page * page;
    four_streams(to, from, stream);
    copied(4 * stream);
  }
  const std::size_t body = bytes / step * step;
  (avx ? by_32 : by_16)(to, from, body);
  copied(body);
  std::memcpy(to, from, bytes);
}

#else

void copy_long(void* destination, const void* source, std::size_t bytes, bool) {
  std::memcpy(destination, source, bytes);
}

#endif

}  // namespace tutti::detail
