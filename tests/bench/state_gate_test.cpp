// When the benchmark and the probe measure, on a machine that changes under them.
#include "state_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace tutti::bench {
namespace {

/// A machine whose flags take these times, one look after the other, and the last from then on.
std::function<double()> machine(std::vector<double> flags, int* looks = nullptr) {
  return [flags = std::move(flags), looks, at = std::size_t{0}]() mutable {
    if (looks) ++*looks;
    return flags[std::min(at++, flags.size() - 1)];
  };
}

TEST(StateGate, FlagsOfOneStateDifferByLessThanAHalf) {
  EXPECT_TRUE(same_state(0.05, 0.06));
  EXPECT_TRUE(same_state(0.06, 0.05));
  EXPECT_FALSE(same_state(0.05, 0.2));
  EXPECT_FALSE(same_state(0.05, 0.014));
}

TEST(StateGate, OpensAtOnceInTheState) {
  int looks = 0;
  StateGate gate(machine({0.05}, &looks), 0.055, 3);
  EXPECT_TRUE(gate.open());
  EXPECT_TRUE(gate.still_open());
  EXPECT_EQ(looks, 2);
}

TEST(StateGate, WaitsForTheState) {
  StateGate gate(machine({0.2, 0.014, 0.05}), 0.05, 3);
  EXPECT_TRUE(gate.open());
}

TEST(StateGate, SaysIfTheStateDidNotLast) {
  StateGate gate(machine({0.05, 0.2, 0.05}), 0.05, 100);
  EXPECT_TRUE(gate.open());
  EXPECT_FALSE(gate.still_open());
  EXPECT_TRUE(gate.open());
}

TEST(StateGate, GivesUpWhenItsPatienceIsAtAnEnd) {
  int looks = 0;
  StateGate gate(machine({0.2}, &looks), 0.05, 3);
  EXPECT_FALSE(gate.open());
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(gate.open());
  EXPECT_EQ(looks, 3);
}

TEST(StateGate, MeasuringInVainTakesPatience) {
  StateGate gate(machine({0.05, 0.2, 0.05}), 0.05, 2);
  EXPECT_TRUE(gate.open());
  EXPECT_FALSE(gate.still_open());
  EXPECT_FALSE(gate.open());
}

TEST(StateGate, PassesEverythingWhereFlagsCannotBeMeasured) {
  StateGate gate(machine({-1}), 0.05, 1);
  EXPECT_TRUE(gate.open());
  EXPECT_TRUE(gate.still_open());
}

}  // namespace
}  // namespace tutti::bench
