// The state of the machine: virtual machines move their processors about, between cores that share a cache, cores that
// do not, and threads of one core, which changes what flags and copies cost by factors, for seconds or for hours. What
// was measured in one state says nothing of another.
#pragma once

#include <functional>
#include <utility>

namespace tutti::bench {

/// Whether two times of a flag may be of one state of the machine.
bool same_state(double flag, double other);

/// Lets measurements begin only in the state in which a flag takes so long, and says whether it lasted.
class StateGate {
 public:
  /// flag_now: measures what a flag takes, in any unit; negative where that cannot be told: then everything passes.
  /// Where several processes share a decision, all get the same answer from it. flag: what it takes in the state that
  /// is asked for, in the same unit. patience: how often the other state may be met, all calls together.
  StateGate(std::function<double()> flag_now, double flag, int patience)
      : flag_now_(std::move(flag_now)), flag_(flag), patience_(patience) {}

  /// Waits until the machine is in the state. False, without waiting any more, once the patience is at an end.
  bool open();
  /// Whether the machine still is in the state.
  bool still_open();

 private:
  bool is_open();

  std::function<double()> flag_now_;
  double flag_;
  int patience_;
};

}  // namespace tutti::bench
