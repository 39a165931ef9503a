#include "engine/staging_trial.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace tutti {
namespace {

using Times = std::array<std::uint64_t, Ways::count>;

/// How often each way is taken in `calls` calls, of which each takes the time of its way.
std::array<int, Ways::count> taken(Ways& ways, int calls, const Times& times) {
  std::array<int, Ways::count> of{};
  for (int i = 0; i < calls; ++i) {
    const auto way = static_cast<std::size_t>(ways.next());
    ++of[way];
    ways.took(times[way]);
  }
  return of;
}

TEST(Ways, TakesTheFastestOneAndLooksAtTheOthersNowAndThen) {
  for (std::size_t fastest = 0; fastest < Ways::count; ++fastest) {
    Ways ways;
    Times times{200, 200, 200};
    times[fastest] = 100;
    taken(ways, 1000, times);
    const auto of = taken(ways, 20'000, times);
    for (std::size_t way = 0; way < Ways::count; ++way) {
      EXPECT_EQ(of[way] > 19'000, way == fastest) << of[way];
      EXPECT_GT(of[way], 0);
    }
  }
}

TEST(Ways, TwoShortRunsOfEachAreEnoughAtFirst) {
  Ways ways;
  // Two runs of four calls each of the others.
  EXPECT_GE(taken(ways, 60, {150, 100, 150})[1], 60 - 2 * 2 * 4);
}

TEST(Ways, OneThatTakesMuchLongerIsTriedOnce) {
  Ways ways;
  EXPECT_EQ(taken(ways, 60, {100, 500, 120})[1], 4);
}

TEST(Ways, LongCallsMakeShortRuns) {
  Ways ways;
  EXPECT_EQ(taken(ways, 9, {10'000'000, 10'000'000, 10'000'000}), (std::array<int, 3>{3, 3, 3}));
}

TEST(Ways, ARunTakesOneWayAndItsFirstCallIsNotTimed) {
  Ways ways;
  int faster = 0, before = -1;
  for (int i = 0; i < 2000; ++i) {
    const int way = ways.next();
    ASSERT_EQ(ways.next(), way);
    // What the way before has left behind takes much longer than all the rest.
    ways.took(way != before ? 1'000'000 : way == 1 ? 100 : 200);
    before = way;
    faster += way == 1;
  }
  EXPECT_GT(faster, 1700);
}

TEST(Ways, OneInterruptionOfEachRunDoesNotDecide) {
  Ways ways;
  int faster = 0;
  for (int i = 0; i < 4000; ++i) {
    const int way = ways.next();
    ways.took(way == 2 && i % 8 == 5 ? 100'000 : way == 2 ? 100 : 150);
    faster += way == 2;
  }
  EXPECT_GT(faster, 3000);
}

TEST(Ways, RunsTellTimesThatScatterMoreThanTheWaysDiffer) {
  // Of a mean of 250 and 300, anything between a third of that and nearly twice as much.
  std::minstd_rand random(1);
  Ways ways;
  int slower = 0;
  for (int i = 0; i < 11'000; ++i) {
    const int way = ways.next();
    const std::uint64_t mean = way == 1 ? 250 : 300;
    ways.took(mean / 3 + random() % (4 * mean / 3));
    if (i >= 1000) slower += way != 1;
  }
  EXPECT_LT(slower, 4000);
}

TEST(Ways, FollowsAChange) {
  Ways ways;
  taken(ways, 2000, {100, 200, 200});
  taken(ways, 1000, {300, 200, 100});
  EXPECT_GT(taken(ways, 2000, {300, 200, 100})[2], 1700);
}

TEST(Ways, LooksTheLessOftenTheLongerNothingChanges) {
  Ways ways;
  const int early = taken(ways, 2000, {100, 120, 120})[1];
  taken(ways, 20'000, {100, 120, 120});
  EXPECT_LT(taken(ways, 2000, {100, 120, 120})[1], early);
}

TEST(Ways, OfThoseThatAreAsGoodKeepsOne) {
  std::minstd_rand random(1);
  Ways ways;
  std::array<int, Ways::count> of{};
  for (int i = 0; i < 20'000; ++i) {
    ++of[static_cast<std::size_t>(ways.next())];
    ways.took(1000 + random() % 50);
  }
  EXPECT_GT(of[0], 15'000);
}

}  // namespace
}  // namespace tutti
