#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "base/processor.h"

namespace tutti::processor {

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

void stream_by_16(char* to, const char* from, std::size_t lines) {
  for (; lines > 0; --lines, to += stream_line_bytes, from += stream_line_bytes) {
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
__attribute__((target("avx"))) void stream_by_32(char* to, const char* from, std::size_t lines) {
  for (; lines > 0; --lines, to += stream_line_bytes, from += stream_line_bytes) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), b);
  }
  _mm256_zeroupper();
}

const bool has_avx = __builtin_cpu_supports("avx") != 0;

// Two features that come with AVX2 on every processor but that a hypervisor may hide, and that some compilers'
// __builtin_cpu_supports cannot be asked about.
bool has_half_floats_and_leading_zero_count() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool half_floats = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1u << 29)) != 0;
  const bool leading_zero_count = __get_cpuid(0x80000001u, &eax, &ebx, &ecx, &edx) && (ecx & (1u << 5)) != 0;
  return half_floats && leading_zero_count;
}

bool has_sse4() {
  __builtin_cpu_init();  // we may run before the constructors of the compiler's own library
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
}

bool has_avx2() {
  return has_sse4() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         has_half_floats_and_leading_zero_count();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
}

}  // namespace

void copy_long(void* destination, const void* source, std::size_t bytes, bool side_by_side) {
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
  if (has_avx && side_by_side) {
    // With anything else than whole pages between them nothing is gained.
    const std::size_t stream = bytes / 4 / page * page;
    four_streams(to, from, stream);
    copied(4 * stream);
  }
  const std::size_t body = bytes / step * step;
  (has_avx ? by_32 : by_16)(to, from, body);
  copied(body);
  std::memcpy(to, from, bytes);
}

void stream_lines(char* to, const char* from, std::size_t lines) {
  (has_avx ? stream_by_32 : stream_by_16)(to, from, lines);
}

void flush_from_caches(const void* begin, std::size_t bytes) {
  const auto* const byte = static_cast<const char*>(begin);
  for (std::size_t at = 0; at < bytes; at += cache_line_bytes) _mm_clflush(byte + at);
  if (bytes > 0) _mm_clflush(byte + bytes - 1);
  _mm_mfence();
}

Maker maker() {
  unsigned most = 0, words[3] = {};
  if (__get_cpuid(0, &most, &words[0], &words[2], &words[1]) && std::memcmp(words, "AuthenticAMD", sizeof words) == 0)
    return Maker::amd;
  return Maker::other;
}

bool is_virtual() {
  constexpr unsigned hypervisor = 1u << 31;
  unsigned words[4] = {};
  return __get_cpuid(1, &words[0], &words[1], &words[2], &words[3]) && (words[2] & hypervisor);
}

bool runs(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::baseline:
      return true;
    case InstructionSet::sse4:
      return has_sse4();
    case InstructionSet::avx2:
      return has_avx2();
    case InstructionSet::avx512:
      return has_avx512();
    default:
      return false;
  }
}

}  // namespace tutti::processor
