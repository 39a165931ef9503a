#include "engine/ways.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace tutti {
namespace {

/// How often way 1 is taken in `calls` calls, of which each takes the time of its way.
int second_taken(Ways& ways, int calls, std::uint64_t first_time, std::uint64_t second_time) {
  int second = 0;
  for (int i = 0; i < calls; ++i) {
    const int way = ways.next(2);
    second += way;
    ways.took(way, way == 0 ? first_time : second_time);
  }
  return second;
}

TEST(Ways, TakesTheFasterOneAndLooksAtTheOtherNowAndThen) {
  Ways ways;
  EXPECT_GT(second_taken(ways, 1000, 200, 100), 950);
  EXPECT_LT(second_taken(ways, 1000, 200, 100), 1000);
}

TEST(Ways, LooksAtTheOtherMoreOftenWhereThatCostsLittle) {
  Ways far;
  Ways near;
  EXPECT_LT(second_taken(far, 1000, 100, 300), second_taken(near, 1000, 100, 110));
}

TEST(Ways, AFirstCallThatTakesLongDoesNotDecide) {
  Ways ways;
  ways.took(ways.next(2), 100'000);
  EXPECT_LT(second_taken(ways, 60, 100, 200), 5);
}

TEST(Ways, SizesThatTakeTurnsDoNotMislead) {
  for (const int phase : {0, 1}) {
    Ways ways;
    int second = 0;
    for (int i = 0; i < 4000; ++i) {
      const int way = ways.next(2);
      second += way;
      const std::uint64_t size = i % 2 == phase ? 1 : 2;
      ways.wants_time(way, 2) ? ways.took(way, size * (way == 0 ? 300 : 100)) : ways.untimed();
    }
    EXPECT_GT(second, 3600);
  }
}

TEST(Ways, LooksAtMuchSlowerOnesCostLittle) {
  Ways ways;
  const std::vector<std::uint64_t> times{100, 200, 1000};
  std::uint64_t sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const int way = ways.next(3);
    sum += times[static_cast<std::size_t>(way)];
    ways.took(way, times[static_cast<std::size_t>(way)]);
  }
  EXPECT_LT(sum, 10000 * 107);
}

TEST(Ways, CallsThatCannotBeTimedDoNotCount) {
  Ways ways;
  for (int i = 0; i < 100; ++i) ways.next(2);
  EXPECT_FALSE(ways.knows(0) || ways.knows(1));
  EXPECT_GT(second_taken(ways, 1000, 200, 100), 950);
  EXPECT_TRUE(ways.knows(0) && ways.knows(1));
}

TEST(Ways, TimesTheFirstCallsThoseByTheSlowerWayAndSomeOthers) {
  Ways ways;
  int timed = 0;
  for (int i = 0; i < 1000; ++i) {
    const int way = ways.next(2);
    const bool wants = ways.wants_time(way, 2);
    EXPECT_TRUE(wants || (i >= 6 && way == 1));
    timed += wants;
    wants ? ways.took(way, way == 0 ? 200 : 100) : ways.untimed();
  }
  EXPECT_GT(timed, 200);
  EXPECT_LT(timed, 400);
}

TEST(Ways, FollowsAChange) {
  Ways ways;
  second_taken(ways, 1000, 100, 200);
  second_taken(ways, 300, 300, 100);
  EXPECT_GT(second_taken(ways, 1000, 300, 100), 950);
}

TEST(Ways, OfTwoThatAreAsGoodKeepsOne) {
  Ways ways;
  int changes = 0, before = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const int way = ways.next(2);
    changes += way != before;
    before = way;
    ways.took(way, 1000 + i * 7919 % 50);
  }
  // No more than to look at the other.
  EXPECT_LT(changes, 2 * 4000 / 17 + 10);
}

TEST(Ways, AWayThatTakesMuchLongerIsNotTriedAgainSoon) {
  Ways ways;
  const std::vector<std::uint64_t> times{100, 110, 500};
  std::vector<int> taken(3);
  for (int i = 0; i < 40; ++i) {
    const int way = ways.next(3);
    ++taken[static_cast<std::size_t>(way)];
    ways.took(way, times[static_cast<std::size_t>(way)]);
  }
  EXPECT_GE(taken[1], 3);
  EXPECT_LE(taken[2], 2);
}

TEST(Ways, AWayThatIsFastEveryOtherTimeDoesNotWin) {
  Ways ways;
  int taken = 0;
  for (int i = 0; i < 2000; ++i) {
    const int way = ways.next(2);
    const bool wants = ways.wants_time(way, 2);
    const std::uint64_t time = way == 0 ? 100 : taken++ % 2 == 0 ? 30 : 360;
    wants ? ways.took(way, time) : ways.untimed();
  }
  EXPECT_LT(taken, 200);
}

TEST(Ways, WhatOnlyTheFirstCallsTakeIsForgotten) {
  Ways ways;
  int best = 0;
  for (int i = 0; i < 100; ++i) {
    const int way = ways.next(3);
    best += way == 1;
    // The first calls find nothing in the caches; the way that comes third profits from those before.
    const std::uint64_t times[] = {300, 100, 250};
    ways.took(way, i < 2 ? 10000 : times[way]);
  }
  EXPECT_GT(best, 60);
}

TEST(Ways, LooksLessOftenTheLongerNothingChanges) {
  Ways ways;
  const int early = second_taken(ways, 300, 100, 120);
  second_taken(ways, 3000, 100, 120);
  EXPECT_LT(second_taken(ways, 300, 100, 120), early);
  EXPECT_GT(second_taken(ways, 300, 100, 120), 0);
}

TEST(Ways, WhenTheBestOneTakesAnotherTimeLooksAtOnce) {
  Ways ways;
  second_taken(ways, 3000, 300, 400);
  // Both are faster, and the second one is the faster one now.
  EXPECT_GT(second_taken(ways, 100, 100, 50), 50);
}

TEST(Ways, ACallThatHasFewerTakesOneOfThem) {
  Ways ways;
  const std::vector<std::uint64_t> times{300, 200, 100};
  for (int i = 0; i < 1000; ++i) {
    const int count = i % 3 == 0 ? 2 : 3;
    const int way = ways.next(count);
    ASSERT_LT(way, count);
    ways.took(way, times[static_cast<std::size_t>(way)]);
  }
}

TEST(Ways, OneLongInterruptionDoesNotLastLong) {
  Ways ways;
  second_taken(ways, 100, 100, 150);
  ways.took(ways.next(2), 1'000'000);
  second_taken(ways, 130, 100, 150);
  EXPECT_LT(second_taken(ways, 1000, 100, 200), 50);
}

/// How often each of three ways is taken in `calls` calls.
std::vector<int> taken(Ways& ways, int calls, std::array<std::uint64_t, 3> times) {
  std::vector<int> of(3);
  for (int i = 0; i < calls; ++i) {
    const int way = ways.next(3);
    ++of[static_cast<std::size_t>(way)];
    ways.took(way, times[static_cast<std::size_t>(way)]);
  }
  return of;
}

TEST(Ways, OfThreeTakesTheFastestAndLooksAtBothOthers) {
  for (std::size_t fastest = 0; fastest < 3; ++fastest) {
    Ways ways;
    std::array<std::uint64_t, 3> times{200, 200, 200};
    times[fastest] = 100;
    const std::vector<int> of = taken(ways, 1000, times);
    for (std::size_t way = 0; way < 3; ++way) {
      EXPECT_EQ(of[way] > 900, way == fastest);
      EXPECT_GT(of[way], 3);
    }
  }
}

TEST(Ways, OfThreeFollowsAChange) {
  Ways ways;
  taken(ways, 1000, {100, 200, 200});
  taken(ways, 600, {300, 200, 100});
  EXPECT_GT(taken(ways, 1000, {300, 200, 100})[2], 900);
  taken(ways, 600, {300, 100, 200});
  EXPECT_GT(taken(ways, 1000, {300, 100, 200})[1], 900);
}

TEST(Ways, RunsTellTimesThatScatterMoreThanTheWaysDiffer) {
  // Of a mean of 250 and 300, anything between a third of that and nearly twice as much.
  std::minstd_rand random(1);
  Ways ways;
  const auto slower_taken = [&](int calls, int faster) {
    int taken = 0;
    for (int i = 0; i < calls; ++i) {
      const int way = ways.next_of_run(2);
      const std::uint64_t mean = way == faster ? 250 : 300;
      ways.took_in_run(way, mean / 3 + random() % (4 * mean / 3));
      if (way != faster) ++taken;
    }
    return taken;
  };
  slower_taken(1000, 1);
  EXPECT_LT(slower_taken(10'000, 1), 2500);
  slower_taken(1000, 0);
  EXPECT_LT(slower_taken(10'000, 0), 2500);
}

TEST(Ways, ARunTakesOneWayAndItsFirstCallIsNotTimed) {
  Ways ways;
  int faster_taken = 0;
  for (int run = 0; run < 200; ++run) {
    const int way = ways.next_of_run(2);
    const int calls = run < 4 ? 4 : 9;
    for (int call = 0; call < calls; ++call) {
      ASSERT_EQ(ways.next_of_run(2), way);
      // What the way before has left behind takes much longer than all the rest.
      ways.took_in_run(way, call == 0 ? 1'000'000 : way == 1 ? 100 : 200);
    }
    if (way == 1) ++faster_taken;
  }
  EXPECT_GT(faster_taken, 170);
}

TEST(Ways, RunsComeHomeForLessThanTheyLeaveIt) {
  const auto second_of_last = [](int home) {
    Ways ways;
    int second = 0;
    for (int call = 0; call < 2000; ++call) {
      const int way = ways.next_of_run(2);
      if (call >= 1000) second += way;
      // At first the second one seems to be faster, and is slower by a tenth then.
      ways.took_in_run(way, way == 0 ? (call < 16 ? 130 : 100) : (call < 16 ? 100 : 110), home);
    }
    return second;
  };
  EXPECT_LT(second_of_last(0), 300);
  EXPECT_GT(second_of_last(Ways::none), 700);
}

TEST(Ways, RunsLeaveHomeWhereAllTriesOfAnotherWayWereFaster) {
  const auto taken = [](std::uint64_t second_try) {
    Ways ways;
    int second = 0;
    for (int call = 0; call < 16; ++call) {
      const int way = ways.next_of_run(2);
      second += way;
      ways.took_in_run(way, way == 0 ? 100 : second <= 4 ? 80 : second_try, 0);
    }
    return ways.next_of_run(2);
  };
  EXPECT_EQ(taken(80), 1);
  EXPECT_EQ(taken(95), 0);
}

TEST(Ways, TwoShortRunsOfEachWayAreEnoughAtFirst) {
  const std::vector<std::uint64_t> times{300, 100, 200};
  Ways ways;
  int fastest_taken = 0;
  for (int i = 0; i < 60; ++i) {
    const int way = ways.next_of_run(3);
    if (way == 1) ++fastest_taken;
    ways.took_in_run(way, times[static_cast<std::size_t>(way)]);
  }
  EXPECT_GE(fastest_taken, 60 - 2 * 2 * 4 - 9);  // two runs of four calls of each other way, and one look
}

TEST(Ways, LongCallsMakeShortRuns) {
  Ways ways;
  for (int i = 0; i < 6; ++i) {
    ways.took_in_run(ways.next_of_run(2), 10'000'000);
  }
  EXPECT_TRUE(ways.knows(0) && ways.knows(1));
}

TEST(Ways, AThirdThatComesLaterIsTriedToo) {
  Ways ways;
  second_taken(ways, 1000, 100, 200);
  EXPECT_FALSE(ways.knows(2));
  EXPECT_GT(taken(ways, 1000, {100, 200, 50})[2], 900);
  EXPECT_LT(second_taken(ways, 1000, 100, 200), 50);
}

}  // namespace
}  // namespace tutti
