// Windows and blocks for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "memory/window.h"

namespace tutti::memory {

inline constexpr std::size_t kibibyte = 1024;
inline constexpr std::size_t mebibyte = 1024 * kibibyte;

/// The kind of file that the tests are run with.
inline HugeKind kind_of_test() {
  const char* const kind = std::getenv("TUTTI_HUGE");
  return huge_kind_named(kind ? kind : "auto");
}

inline std::unique_ptr<Window> make_window(std::size_t bytes, std::size_t retain_bytes = WindowOptions().retain_bytes) {
  WindowOptions options;
  options.bytes = bytes;
  options.huge = kind_of_test();
  options.retain_bytes = retain_bytes;
  std::string reason;
  auto window = Window::create(options, reason);
  EXPECT_TRUE(window) << reason;
  return window;
}

/// A block filled with bytes that follow from a seed, so that a foreign write anywhere in it is noticed.
struct Block {
  std::uint64_t* data = nullptr;
  std::size_t words = 0;
  std::uint64_t seed = 0;

  void fill(std::size_t from = 0) {
    for (std::size_t i = from; i < words; ++i) data[i] = seed + i;
  }
  bool intact(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i)
      if (data[i] != seed + i) return false;
    return true;
  }
};

}  // namespace tutti::memory
