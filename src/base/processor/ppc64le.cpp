#include <cstring>

#include "base/processor.h"

namespace tutti::processor {

void copy_long(void* destination, const void* source, std::size_t bytes, bool) {
  std::memcpy(destination, source, bytes);
}

void stream_lines(char* to, const char* from, std::size_t lines) {
  std::memcpy(to, from, lines * stream_line_bytes);
}

void flush_from_caches(const void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (std::uintptr_t at = first / cache_line_bytes * cache_line_bytes; at < first + bytes; at += cache_line_bytes)
    asm volatile("dcbf 0, %0" ::"r"(at) : "memory");
  asm volatile("sync" ::: "memory");
}

Maker maker() {
  return Maker::other;
}

bool is_virtual() {
  return false;
}

bool runs(InstructionSet set) noexcept {
  return set == InstructionSet::baseline;  // which has VSX
}

}  // namespace tutti::processor
