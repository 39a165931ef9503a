#include "memory/stream.h"

#include <cstdint>
#include <cstring>

#include "base/copy.h"
#include "base/sanitizer.h"
#include "base/simulated.h"

namespace tutti::memory {

void stream_part(void* destination, const void* source, std::size_t bytes) {
  if constexpr (simulated::on) return simulated::copy(destination, source, bytes, simulated::Move::streaming);
  constexpr std::size_t line = processor::stream_line_bytes;
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
  processor::stream_lines(to, from, lines);
  to += lines * line;
  from += lines * line;
  bytes -= lines * line;
  std::memcpy(to, from, bytes);
}

void stream_fence() {
  if constexpr (simulated::on) return simulated::fence();
  processor::order_streamed();
}

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
