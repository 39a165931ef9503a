// aarch64: ARMv8.0 and later. Included by base/processor.h.
#pragma once

#include <cstddef>
#include <cstdint>

#define TUTTI_TARGET_CLONES

namespace tutti::processor {

/// Of the cores of Arm (Neoverse, Cortex). Apple's have 128 and the A64FX has 256: there neighbours share a line, which
/// costs time and nothing else.
inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t least_page_bytes = 4096, most_page_bytes = 65536;
inline constexpr std::size_t own_copy_bytes = SIZE_MAX;

inline void relax() {
  // `yield` does nothing on cores that have one thread. This waits about as long as x86's pause.
  asm volatile("isb" ::: "memory");
}

inline std::uint64_t ticks() {
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
}

/// From 19 (19.2 MHz) to 1000.
inline std::uint64_t ticks_a_microsecond() {
  std::uint64_t a_second;
  asm("mrs %0, cntfrq_el0" : "=r"(a_second));
  return a_second / 1'000'000;
}

inline std::uint64_t ticks_in_order() {
  std::uint64_t now;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
  return now;
}

inline constexpr const char* clock_source = "arch_sys_counter";

inline void order_streamed() {
  asm volatile("dmb ishst" ::: "memory");
}

inline void prefetch_to_write(const void* line) {
  __builtin_prefetch(line, 1);
}

inline void* thread_pointer() {
  return __builtin_thread_pointer();
}

inline constexpr unsigned elf_machine = 183;                // EM_AARCH64
inline constexpr unsigned elf_slots[] = {257, 1025, 1026};  // R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT

}  // namespace tutti::processor
