#include <sys/auxv.h>

#include <cstring>

#include "base/processor.h"

namespace tutti::processor {

namespace {

/// What the kernel tells programs of the processor (HWCAP_ and HWCAP2_, of which older headers lack the newer ones).
bool has(unsigned long vector, unsigned bit) {
  return (getauxval(vector) >> bit & 1) != 0;
}

constexpr unsigned aes = 3, sve = 22;  // of AT_HWCAP
constexpr unsigned sve2 = 1;           // of AT_HWCAP2

}  // namespace

void copy_long(void* destination, const void* source, std::size_t bytes, bool) {
  std::memcpy(destination, source, bytes);
}

// Pairs of registers, stored with the hint that nobody here reads them soon.
void stream_lines(char* to, const char* from, std::size_t lines) {
  for (; lines > 0; --lines, to += stream_line_bytes, from += stream_line_bytes)
    asm volatile(
        "ldp q0, q1, [%1]\n\t"
        "ldp q2, q3, [%1, #32]\n\t"
        "stnp q0, q1, [%0]\n\t"
        "stnp q2, q3, [%0, #32]"
        :
        : "r"(to), "r"(from)
        : "memory", "v0", "v1", "v2", "v3");
}

void flush_from_caches(const void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (std::uintptr_t at = first / cache_line_bytes * cache_line_bytes; at < first + bytes; at += cache_line_bytes)
    asm volatile("dc civac, %0" ::"r"(at) : "memory");
  asm volatile("dsb ish" ::: "memory");
}

Maker maker() {
  return Maker::other;
}

bool is_virtual() {
  return false;
}

bool runs(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::baseline:
      return true;
    case InstructionSet::neon:
      return has(AT_HWCAP, aes);  // Highway's code for NEON is built with it
    case InstructionSet::sve:
      return has(AT_HWCAP, sve);
    case InstructionSet::sve2:
      return has(AT_HWCAP2, sve2);
    default:
      return false;
  }
}

}  // namespace tutti::processor
