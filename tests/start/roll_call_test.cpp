#include "mpi/start/roll_call.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tutti::mpi {
namespace {

using Result = RollCall::Result;

/// Ranks of one job, in this process: `ranks` of `local_ranks`.
std::vector<std::unique_ptr<RollCall>> ranks_of(const std::string& job, const std::vector<int>& ranks,
                                                int local_ranks) {
  std::vector<std::unique_ptr<RollCall>> all;
  for (const int rank : ranks)
    all.push_back(
        std::make_unique<RollCall>(LaunchedRank{job + "-" + std::to_string(getpid()), rank, local_ranks, ""}));
  return all;
}

TEST(RollCall, AllTakePart) {
  const auto ranks = ranks_of("all", {0, 1, 2}, 3);
  for (const auto& rank : ranks) rank->announce();
  for (const auto& rank : ranks) EXPECT_EQ(rank->take(0), Result::all);
}

TEST(RollCall, OneRankNamesThoseThatAreMissingAndAllDecideAlike) {
  const auto ranks = ranks_of("some", {1, 3}, 4);
  for (const auto& rank : ranks) rank->announce();
  for (const auto& rank : ranks) EXPECT_EQ(rank->take(0), Result::some);
  EXPECT_EQ(ranks[0]->missing(), (std::vector<int>{0, 2}));
  EXPECT_TRUE(ranks[1]->missing().empty());
}

TEST(RollCall, WhoComesAfterTheDecisionTakesItOver) {
  const auto ranks = ranks_of("late", {0, 1}, 2);
  ranks[0]->announce();
  EXPECT_EQ(ranks[0]->take(0), Result::some);
  ranks[1]->announce();
  EXPECT_EQ(ranks[1]->take(0), Result::some);
}

TEST(RollCall, ANameIsWaitedFor) {
  const auto ranks = ranks_of("slow", {0, 1}, 2);
  ranks[0]->announce();
  std::thread late([&] {
    usleep(20'000);
    ranks[1]->announce();
    EXPECT_EQ(ranks[1]->take(10), Result::all);
  });
  EXPECT_EQ(ranks[0]->take(10), Result::all);
  late.join();
}

TEST(RollCall, JobsDoNotMeet) {
  const auto here = ranks_of("here", {0}, 2);
  const auto there = ranks_of("there", {1}, 2);
  here[0]->announce();
  there[0]->announce();
  EXPECT_EQ(here[0]->take(0), Result::some);
}

struct Others : OtherNodes {
  bool answer = true;
  int asked = 0, refused = 0;
  bool all_take_part() override {
    ++asked;
    return answer;
  }
  void refuse() override { ++refused; }
};

TEST(RollCall, TheFirstRankAsksTheOtherNodesAndAllOfItsNodeTakeThatOver) {
  for (const bool answer : {true, false}) {
    const auto ranks = ranks_of(answer ? "they do" : "they do not", {0, 1, 2}, 3);
    for (const auto& rank : ranks) rank->announce();
    Others others;
    others.answer = answer;
    std::thread second([&] { EXPECT_EQ(ranks[1]->take(0, &others), answer ? Result::all : Result::some); });
    usleep(20'000);
    EXPECT_EQ(others.asked, 0);
    EXPECT_EQ(ranks[0]->take(0, &others), answer ? Result::all : Result::some);
    second.join();
    EXPECT_EQ(ranks[2]->take(0, &others), answer ? Result::all : Result::some);
    EXPECT_EQ(others.asked, 1);
    EXPECT_EQ(others.refused, 0);
    EXPECT_TRUE(ranks[0]->missing().empty());
  }
}

TEST(RollCall, OtherNodesAreToldOfARankThatIsMissing) {
  const auto ranks = ranks_of("one is missing", {1, 2}, 3);
  for (const auto& rank : ranks) rank->announce();
  Others others;
  for (const auto& rank : ranks) EXPECT_EQ(rank->take(0, &others), Result::some);
  EXPECT_EQ(others.asked, 0);
  EXPECT_EQ(others.refused, 1);
}

TEST(RollCall, WithoutALauncherNothingIsKnown) {
  RollCall alone(std::nullopt);
  alone.announce();
  EXPECT_EQ(alone.take(0), Result::unknown);
}

}  // namespace
}  // namespace tutti::mpi
