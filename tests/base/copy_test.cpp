#include "base/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace tutti {
namespace {

/// Copies `bytes` between these distances from aligned addresses, and looks at what lies around the destination, too.
void try_copy(std::size_t bytes, std::size_t to_offset, std::size_t from_offset) {
  constexpr std::size_t align = 4096, margin = 64;
  std::vector<unsigned char> from(bytes + 2 * align), to(bytes + 2 * align, 0xee);
  unsigned value = 7;
  for (unsigned char& byte : from)
    byte = static_cast<unsigned char>(value = value * 1664525 + 1013904223 + (value >> 24));
  const auto aligned = [](std::vector<unsigned char>& in, std::size_t offset) {
    void* begin = in.data() + margin;
    std::size_t room = in.size() - margin;
    return static_cast<unsigned char*>(std::align(align, 1, begin, room)) + offset;
  };
  const unsigned char* const source = aligned(from, from_offset);
  for (const bool peer : {false, true}) {
    unsigned char* const destination = aligned(to, to_offset);
    peer ? copy_from_peer(destination, source, bytes) : copy_bytes(destination, source, bytes);
    ASSERT_TRUE(std::equal(source, source + bytes, destination)) << bytes << " " << to_offset << " " << from_offset;
    for (std::size_t i = 1; i <= margin; ++i) {
      ASSERT_EQ(destination[-static_cast<std::ptrdiff_t>(i)], 0xee) << bytes << " " << to_offset;
      ASSERT_EQ(destination[bytes + i - 1], 0xee) << bytes << " " << to_offset;
    }
    std::fill(to.begin(), to.end(), 0xee);
  }
}

TEST(Copy, AnySizeAtAnyAlignment) {
  for (const std::size_t around : {1UL, 64UL, 2048UL, 16UL << 10, 32UL << 10, 100UL << 10, 256UL << 10, 600UL << 10})
    for (const std::size_t bytes : {around - 1, around, around + 1, around + 63, around + 4096})
      for (const std::size_t to : {0UL, 1UL, 31UL, 32UL, 63UL})
        for (const std::size_t from : {0UL, 1UL, 17UL, 32UL}) try_copy(bytes, to, from);
}

}  // namespace
}  // namespace tutti
