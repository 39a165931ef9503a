#include "state_gate.h"

#include <unistd.h>

#include <algorithm>

namespace tutti::bench {

namespace {

constexpr double kFactor = 1.5;
constexpr int kPauseUs = 20'000;
/// What was measured in vain took longer than a look.
constexpr int kCostOfAMeasurement = 10;

}  // namespace

bool same_state(double flag, double other) {
  return std::max(flag, other) < kFactor * std::min(flag, other);
}

bool StateGate::is_open() {
  const double now = flag_now_();
  return now < 0 || same_state(now, flag_);
}

bool StateGate::open() {
  while (patience_ > 0) {
    if (is_open()) return true;
    if (--patience_ > 0) usleep(kPauseUs);
  }
  return false;
}

bool StateGate::still_open() {
  if (is_open()) return true;
  patience_ -= kCostOfAMeasurement;
  return false;
}

}  // namespace tutti::bench
