#include "engine/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/settings.h"

namespace tutti {
namespace {

constexpr std::size_t page = 4096;

TEST(DataArea, HoldsASmallMessageAndAQuarterOfOneForEachOfUpToSixteenRanks) {
  for (const std::size_t eager_max : {std::size_t{64}, page, 4 * page, 5 * page, std::size_t{1} << 20}) {
    Settings settings;
    settings.eager_max = eager_max;
    for (int ranks = 2; ranks <= 300; ++ranks) {
      const std::size_t bytes = slot_bytes_of(settings, ranks);
      const auto count = static_cast<std::size_t>(ranks);
      EXPECT_EQ(bytes % page, 0U) << ranks << " ranks, " << eager_max;
      EXPECT_GE(bytes, eager_max) << ranks << " ranks";
      EXPECT_GE(bytes, 16 * count) << ranks << " ranks";
      EXPECT_GE(bytes, eager_max / 4 * std::min(count, std::size_t{16})) << ranks << " ranks, " << eager_max;
    }
  }
}

TEST(PlaceInRing, ComesToEveryPlaceOnceALap) {
  for (const std::uint64_t size : {data_areas, ring_slots, std::uint64_t{64}}) {
    for (const std::uint64_t first : {std::uint64_t{0}, size, 1000 * size}) {
      std::set<std::uint64_t> places;
      for (std::uint64_t i = 0; i < size; ++i) places.insert(place_in_ring(first + i, size));
      EXPECT_EQ(places.size(), size);
      EXPECT_EQ(*places.rbegin(), size - 1);
    }
    for (std::uint64_t sequence = 0; sequence < 3 * size; ++sequence)
      EXPECT_EQ(place_in_ring(sequence, size), place_in_ring(sequence + size, size));
  }
}

TEST(PlaceInRing, TakesNoTwoEqualStepsInARow) {
  for (const std::uint64_t size : {data_areas, ring_slots}) {
    const auto step = [size](std::uint64_t sequence) {
      return (place_in_ring(sequence + 1, size) - place_in_ring(sequence, size)) % size;
    };
    for (std::uint64_t sequence = 0; sequence < 2 * size; ++sequence)
      EXPECT_NE(step(sequence), step(sequence + 1)) << sequence << " of " << size;
  }
}

TEST(DataArea, IsAnOddNumberOfPagesWhereLargerThanASmallMessage) {
  const Settings settings;
  for (int ranks = 2; ranks <= 18; ++ranks) {
    const std::size_t bytes = slot_bytes_of(settings, ranks);
    if (bytes > settings.eager_max) {
      EXPECT_EQ(bytes / page % 2, 1U) << ranks << " ranks";
    }
  }
  EXPECT_EQ(slot_bytes_of(settings, 4), settings.eager_max);
  EXPECT_GT(slot_bytes_of(settings, 5), settings.eager_max);
}

}  // namespace
}  // namespace tutti
