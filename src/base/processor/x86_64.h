// x86-64. Included by base/processor.h.
#pragma once

#include <cstddef>
#include <cstdint>

#define TUTTI_TARGET_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))

namespace tutti::processor {

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t least_page_bytes = 4096, most_page_bytes = 4096;

/// From this size on memcpy may choose `rep movsb`, which on some processors falls from 30 and more GB/s to 3 if the
/// destination begins 1 to 31 bytes after the source modulo 4096: as malloc'ed arrays and pages of a slot do.
inline constexpr std::size_t own_copy_bytes = 2048;

inline void relax() {
  __builtin_ia32_pause();
}

inline std::uint64_t ticks() {
  return __builtin_ia32_rdtsc();  // <x86intrin.h> would be a sixth of what most sources cost to parse
}

/// From 2 to 4 GHz.
inline constexpr std::uint64_t ticks_a_microsecond() {
  return 2000;
}

inline std::uint64_t ticks_in_order() {
  // The first fence keeps earlier work before the reading, the second keeps later work behind it.
  __builtin_ia32_lfence();
  const std::uint64_t now = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return now;
}

inline constexpr const char* clock_source = "tsc";

/// Streaming stores are not ordered with what follows unless they are told to be.
inline void order_streamed() {
  __builtin_ia32_sfence();
}

inline void prefetch_to_write(const void* line) {
  asm volatile("prefetchw (%0)" ::"r"(line));
}

inline void* thread_pointer() {
  return __builtin_thread_pointer();
}

inline constexpr unsigned elf_machine = 62;         // EM_X86_64
inline constexpr unsigned elf_slots[] = {1, 6, 7};  // R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT

}  // namespace tutti::processor
