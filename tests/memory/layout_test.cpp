#include "memory/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "memory/random_layout.h"

namespace tutti::memory {
namespace {

using test::offsets_of;
using test::random_layout;

TEST(Layout, RunsWithoutGapsAreOne) {
  Layout layout(8);
  ASSERT_TRUE(layout.repeat(5, 8));
  ASSERT_TRUE(layout.repeat(1, 1000));
  EXPECT_EQ(layout.loops(), 0);
  EXPECT_EQ(layout.run(), 40u);
  ASSERT_TRUE(layout.repeat(3, 100));
  ASSERT_TRUE(layout.repeat(2, 300));
  EXPECT_EQ(layout.loops(), 1);
  EXPECT_EQ(layout.loop(0).count, 6u);
  EXPECT_EQ(layout.bytes(), 240u);
}

TEST(Layout, TooManyLoopsChangeNothing) {
  Layout layout(1);
  std::ptrdiff_t distance = 3;
  for (int i = 0; i < Layout::loops_max; ++i, distance *= 3) ASSERT_TRUE(layout.repeat(2, distance));
  EXPECT_FALSE(layout.repeat(2, distance));
  EXPECT_EQ(layout.bytes(), 64u);
}

TEST(Layout, InShorterRunsItIsTheSameBytes) {
  Layout layout(24);
  layout.move(-7);
  ASSERT_TRUE(layout.repeat(3, 50));
  ASSERT_TRUE(layout.repeat(2, -500));
  for (const std::size_t run : {24u, 12u, 8u, 1u}) EXPECT_EQ(offsets_of(layout.in_runs_of(run)), offsets_of(layout));
}

TEST(Layout, BytesGoFromAnyToAnyOther) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t bytes = 1 + random() % 720;
    const Layout to = random_layout(random, bytes), from = random_layout(random, bytes);
    const std::vector<std::ptrdiff_t> to_offsets = offsets_of(to), from_offsets = offsets_of(from);
    ASSERT_EQ(to_offsets.size(), bytes);
    ASSERT_EQ(from_offsets.size(), bytes);
    for (std::size_t i = 0; i < bytes; i += to.run()) ASSERT_EQ(to.offset_of_run(i / to.run()), to_offsets[i]);
    const auto room = [](const std::vector<std::ptrdiff_t>& offsets) {
      const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
      return std::pair{-*least, static_cast<std::size_t>(*most - *least + 1)};
    };
    const auto [to_base, to_room] = room(to_offsets);
    ASSERT_EQ(to.extent().first, -to_base);
    ASSERT_EQ(to.extent().bytes, to_room);
    const auto [from_base, from_room] = room(from_offsets);
    std::vector<std::byte> target(to_room, std::byte{0xff}), expected = target, source(from_room);
    for (std::byte& each : source) each = static_cast<std::byte>(random() % 255);
    for (std::size_t i = 0; i < bytes; ++i)
      expected[static_cast<std::size_t>(to_base + to_offsets[i])] =
          source[static_cast<std::size_t>(from_base + from_offsets[i])];
    copy_between(to, target.data() + to_base, from, source.data() + from_base, bytes);
    ASSERT_EQ(target, expected) << "round " << round;

    std::vector<std::byte> packed(bytes);
    for (std::size_t i = 0; i < bytes; ++i) packed[i] = source[static_cast<std::size_t>(from_base + from_offsets[i])];
    const Spread spread{to, target.data() + to_base}, origin{from, source.data() + from_base};
    std::vector<std::byte> got(bytes);
    std::fill(target.begin(), target.end(), std::byte{0xff});
    for (std::size_t at = 0, part = 0; at < bytes; at += part) {
      part = 1 + random() % (bytes - at);
      spread.put(at, packed.data() + at, part);
      origin.get(at, got.data() + at, part);
    }
    ASSERT_EQ(target, expected) << "round " << round;
    ASSERT_EQ(got, packed) << "round " << round;
    ASSERT_EQ(target, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace tutti::memory
