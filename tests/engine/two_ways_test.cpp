#include "engine/two_ways.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

/// How often way 1 is taken in `calls` calls, of which each takes the time of its way.
int second_taken(TwoWays& ways, int calls, std::uint64_t first_time, std::uint64_t second_time) {
  int second = 0;
  for (int i = 0; i < calls; ++i) {
    const int way = ways.next();
    second += way;
    ways.took(way, way == 0 ? first_time : second_time);
  }
  return second;
}

TEST(TwoWays, TakesTheFasterOneAndLooksAtTheOtherNowAndThen) {
  TwoWays ways;
  EXPECT_GT(second_taken(ways, 1000, 200, 100), 950);
  EXPECT_LT(second_taken(ways, 1000, 200, 100), 1000);
}

TEST(TwoWays, LooksAtTheOtherMoreOftenWhereThatCostsLittle) {
  TwoWays far;
  TwoWays near;
  EXPECT_LT(second_taken(far, 1000, 100, 300), second_taken(near, 1000, 100, 110));
}

TEST(TwoWays, AFirstCallThatTakesLongDoesNotDecide) {
  TwoWays ways;
  ways.took(ways.next(), 100'000);
  EXPECT_LT(second_taken(ways, 60, 100, 200), 5);
}

TEST(TwoWays, SizesThatTakeTurnsDoNotMislead) {
  TwoWays ways;
  int second = 0;
  for (int i = 0; i < 1000; ++i) {
    const int way = ways.next();
    second += way;
    const std::uint64_t size = i % 2 == 0 ? 1 : 2;
    ways.took(way, size * (way == 0 ? 200 : 100));
  }
  EXPECT_GT(second, 900);
}

TEST(TwoWays, CallsThatCannotBeTimedDoNotCount) {
  TwoWays ways;
  for (int i = 0; i < 100; ++i) ways.next();
  EXPECT_FALSE(ways.knows_both());
  EXPECT_GT(second_taken(ways, 1000, 200, 100), 950);
  EXPECT_TRUE(ways.knows_both());
}

TEST(TwoWays, TimesTheFirstCallsThoseByTheSlowerWayAndSomeOthers) {
  TwoWays ways;
  int timed = 0;
  for (int i = 0; i < 1000; ++i) {
    const int way = ways.next();
    const bool wants = ways.wants_time(way);
    EXPECT_TRUE(wants || (i >= 6 && way == 1));
    timed += wants;
    wants ? ways.took(way, way == 0 ? 200 : 100) : ways.untimed();
  }
  EXPECT_GT(timed, 200);
  EXPECT_LT(timed, 400);
}

TEST(TwoWays, FollowsAChange) {
  TwoWays ways;
  second_taken(ways, 1000, 100, 200);
  second_taken(ways, 300, 300, 100);
  EXPECT_GT(second_taken(ways, 1000, 300, 100), 950);
}

TEST(TwoWays, OneLongInterruptionDoesNotLastLong) {
  TwoWays ways;
  second_taken(ways, 100, 100, 150);
  ways.took(ways.next(), 1'000'000);
  second_taken(ways, 130, 100, 150);
  EXPECT_LT(second_taken(ways, 1000, 100, 200), 50);
}

}  // namespace
}  // namespace tutti
