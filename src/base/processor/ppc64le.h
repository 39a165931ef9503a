// ppc64le: POWER8 and later. Included by base/processor.h.
#pragma once

#include <cstddef>
#include <cstdint>

#define TUTTI_TARGET_CLONES

namespace tutti::processor {

inline constexpr std::size_t cache_line_bytes = 128;
inline constexpr std::size_t least_page_bytes = 4096, most_page_bytes = 65536;
inline constexpr std::size_t own_copy_bytes = SIZE_MAX;

inline void relax() {
  // Low priority and back: meanwhile the other threads of the core get what this one leaves.
  asm volatile("or 1, 1, 1\n\tor 2, 2, 2" ::: "memory");
}

inline std::uint64_t ticks() {
  return __builtin_ppc_get_timebase();
}

/// POWER8 and later count with 512 MHz.
inline constexpr std::uint64_t ticks_a_microsecond() {
  return 512;
}

inline std::uint64_t ticks_in_order() {
  std::uint64_t now;
  asm volatile("isync\n\tmfspr %0, 268\n\tisync" : "=r"(now)::"memory");
  return now;
}

inline constexpr const char* clock_source = "timebase";

/// stream_lines() stores as all others do: a release orders it.
inline void order_streamed() {
  asm volatile("lwsync" ::: "memory");
}

inline void prefetch_to_write(const void* line) {
  __builtin_prefetch(line, 1);
}

inline void* thread_pointer() {
  void* pointer;
  asm("mr %0, 13" : "=r"(pointer));
  return pointer;
}

inline constexpr unsigned elf_machine = 21;            // EM_PPC64
inline constexpr unsigned elf_slots[] = {20, 21, 38};  // R_PPC64_GLOB_DAT, R_PPC64_JMP_SLOT, R_PPC64_ADDR64

}  // namespace tutti::processor
