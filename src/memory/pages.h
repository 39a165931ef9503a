// Pages: what the kernel maps and protects as one.
#pragma once

#include <sys/auxv.h>

#include <cstddef>

#include "base/processor.h"

namespace tutti::memory {

/// Where the processor has pages of several sizes the kernel says which it takes.
inline std::size_t page_bytes() noexcept {
  if constexpr (processor::least_page_bytes == processor::most_page_bytes) return processor::least_page_bytes;
  static const std::size_t bytes = getauxval(AT_PAGESZ);
  return bytes;
}

/// Whether madvise removes pages (MADV_REMOVE), so that they read as zero. Emulators (QEMU) say that they have, and have not.
bool system_removes_pages() noexcept;

/// The next multiple of `to`.
constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace tutti::memory
