#include "memory/stream.h"

#include <cstdint>
#include <cstring>

#include "base/copy.h"
#include "base/sanitizer.h"
#include "base/simulated.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tutti::memory {

#if defined(__SSE2__)

namespace {

constexpr std::size_t line = 64;

/// Whole lines, to the beginning of one.
void stream_lines(char* to, const char* from, std::size_t lines) {
  for (; lines > 0; --lines, to += line, from += line) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 32));
    const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 48));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), a);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + 16), b);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + 32), c);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + 48), d);
  }
}

/// The same in fewer stores: 64 KiB past another core's caches in 1.3 us instead of 1.7.
__attribute__((target("avx"))) void stream_lines_avx(char* to, const char* from, std::size_t lines) {
  for (; lines > 0; --lines, to += line, from += line) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), b);
  }
  _mm256_zeroupper();
}

const bool has_avx = __builtin_cpu_supports("avx") != 0;

}  // namespace

void stream_part(void* destination, const void* source, std::size_t bytes) {
  if constexpr (simulated::on) return simulated::copy(destination, source, bytes, simulated::Move::streaming);
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  if (bytes < head + line) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  const std::size_t lines = bytes / line;
  tell_sanitizer_of_write(to, lines * line);
  has_avx ? stream_lines_avx(to, from, lines) : stream_lines(to, from, lines);
  to += lines * line;
  from += lines * line;
  bytes -= lines * line;
  std::memcpy(to, from, bytes);
}

// Streaming stores are not ordered with the flag that follows unless they are told to be.
void stream_fence() {
  if constexpr (simulated::on) return simulated::fence();
  _mm_sfence();
}

#else

void stream_part(void* destination, const void* source, std::size_t bytes) {
  if constexpr (simulated::on) return simulated::copy(destination, source, bytes, simulated::Move::streaming);
  std::memcpy(destination, source, bytes);
}

void stream_fence() {
  if constexpr (simulated::on) return simulated::fence();
}

#endif

void stream_copy(void* destination, const void* source, std::size_t bytes) {
  stream_part(destination, source, bytes);
  stream_fence();
}

void take_lines(std::byte* begin, std::size_t bytes) {
  if (bytes == 0) return;
  if constexpr (simulated::on) return simulated::take(begin, bytes);
  const auto take = [](std::byte* byte) {
    auto* const kept = reinterpret_cast<volatile unsigned char*>(byte);
    *kept = *kept;
  };
  take(begin);
  const std::size_t first = cache_line_bytes - reinterpret_cast<std::uintptr_t>(begin) % cache_line_bytes;
  for (std::size_t at = first; at < bytes; at += cache_line_bytes) take(begin + at);
}

void take_whole_lines(std::byte* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t head = (cache_line_bytes - address % cache_line_bytes) % cache_line_bytes;
  const std::size_t tail = (address + bytes) % cache_line_bytes;
  if (bytes > head + tail) take_lines(begin + head, bytes - head - tail);
}

}  // namespace tutti::memory
