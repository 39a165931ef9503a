#include "memory/rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "readable.h"

namespace tutti::memory {
namespace {

constexpr std::size_t page = 4096;

TEST(Rows, AreZeroAndApart) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  for (const std::size_t bytes : {std::size_t{2}, std::size_t{64}, std::size_t{65}, std::size_t{300}}) {
    Rows rows(*arena, bytes);
    std::set<std::size_t> offsets;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 150; ++i) {
        const auto row = rows.allocate();
        ASSERT_TRUE(row);
        EXPECT_EQ(*row % Rows::unit_bytes, 0u);
        const auto next = offsets.lower_bound(*row);
        EXPECT_TRUE(next == offsets.end() || *next - *row >= bytes);
        EXPECT_TRUE(next == offsets.begin() || *row - *std::prev(next) >= bytes);
        offsets.insert(*row);
        for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(arena->base()[*row + at], std::byte{0});
        std::memset(arena->base() + *row, 1, bytes);
      }
      for (const std::size_t row : offsets) rows.release(row);
      offsets.clear();
    }
  }
}

TEST(Rows, ManyLieInAPageAndAllGoBack) {
  std::string reason;
  const auto arena = Arena::create(std::size_t{1} << 20, reason);
  ASSERT_TRUE(arena) << reason;
  Rows rows(*arena, 8);
  std::vector<std::size_t> all;
  for (int i = 0; i < 640; ++i) all.push_back(*rows.allocate());
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), 10 * page);
  for (const std::size_t row : all) rows.release(row);
  EXPECT_EQ(readable_bytes(arena->base(), arena->capacity()), page);
}

TEST(Rows, AFullArenaHasNone) {
  std::string reason;
  const auto arena = Arena::create(page, reason);
  ASSERT_TRUE(arena) << reason;
  Rows rows(*arena, 64);
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(rows.allocate());
  EXPECT_FALSE(rows.allocate());
}

}  // namespace
}  // namespace tutti::memory
