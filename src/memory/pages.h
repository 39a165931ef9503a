// Pages: what the kernel maps and protects as one.
#pragma once

#include <cstddef>

namespace tutti::memory {

constexpr std::size_t page_bytes = 4096;

/// The next multiple of `to`.
constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace tutti::memory
