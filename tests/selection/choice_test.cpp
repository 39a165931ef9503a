#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "selection/algorithm.h"

namespace tutti::selection {
namespace {

struct Nothing {};

const Algorithm<Nothing> quick_but_small{"quick",
                                         {},
                                         {"at most 100 bytes", [](const Shape& shape) { return shape.bytes <= 100; }},
                                         [](const Shape&) { return Cost{.hops = 1}; },
                                         {nullptr, {}}};
const Algorithm<Nothing> slow{
    "slow", {}, requires_nothing, [](const Shape&) { return Cost{.hops = 10}; }, {nullptr, {}}};
const std::array<const Algorithm<Nothing>*, 2> both{&quick_but_small, &slow};

UserChoice user(const char* text, std::string* printed = nullptr) {
  const std::vector<UserChoice::Known> known{{"bcast", {"quick", "slow"}, {}}};
  testing::internal::CaptureStderr();
  const UserChoice choice = UserChoice::parse(text, known, Log());
  const std::string said = testing::internal::GetCapturedStderr();
  if (printed) *printed = said;
  return choice;
}

const Algorithm<Nothing>* chosen(const char* text, std::size_t bytes) {
  Shape shape;
  shape.bytes = bytes;
  return choose<Nothing>("bcast", both, shape, {user(text), {}}).algorithm;
}

TEST(Choice, TheCheapestEligibleAlgorithmIsTaken) {
  EXPECT_EQ(chosen("", 100), &quick_but_small);
  EXPECT_EQ(chosen("", 101), &slow);
}

TEST(Choice, TheUserMayAskForOrExclude) {
  EXPECT_EQ(chosen("bcast:slow", 1), &slow);
  EXPECT_EQ(chosen("bcast:^quick", 1), &slow);
  EXPECT_EQ(chosen("bcast:^slow", 1), &quick_but_small);
}

TEST(Choice, TheHostIsTakenWhenAskedFor) {
  EXPECT_EQ(chosen("bcast:host", 1), nullptr);
}

TEST(Choice, AnAlgorithmThatIsNotEligibleIsReplacedByTheBestOther) {
  EXPECT_EQ(chosen("bcast:quick", 1000), &slow);
}

TEST(Choice, WordsAboutSomeAlgorithmsSayNothingOfOthers) {
  const std::vector<UserChoice::Known> quick{{"bcast", {"quick"}, {}}};
  EXPECT_FALSE(user("bcast:slow").among(quick).mentions("bcast"));
  EXPECT_FALSE(user("bcast:quick,slow").among(quick).allows("bcast", "slow"));
  EXPECT_EQ(user("bcast:^quick,slow").among(quick).words("bcast"), "^quick");
  EXPECT_EQ(user("bcast:slow,host").among(quick).words("bcast"), "host");
}

TEST(Choice, UnknownNamesAreOneWarningEachAndIgnored) {
  std::string printed;
  const UserChoice choice = user("bcast:quik;bcats:slow;nonsense", &printed);
  EXPECT_FALSE(choice.mentions("bcast"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 3) << printed;
  EXPECT_NE(printed.find("\"quick\""), std::string::npos);
  EXPECT_NE(printed.find("\"bcast\""), std::string::npos);
}

TEST(Cost, RanksThatShareACorePayInTurnsNotInHops) {
  Shape shape;
  const Cost cost{.hops = 2, .rounds = 1};
  const double alone = cost.seconds(shape, Model());
  shape.ranks_per_core = 4;
  EXPECT_GT(cost.seconds(shape, Model()), alone);
}

}  // namespace
}  // namespace tutti::selection
