// Which of two ways of doing the same is the faster one, learned by taking both: for what depends on things that are
// known nowhere and change, such as whether two virtual processors share a cache at present.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ticks.h"

namespace tutti {

class TwoWays {
 public:
  /// The way to take next, 0 or 1: both some times at first, then the faster one, and now and then the other: the less
  /// often, the more that costs. Programs repeat themselves, often in twos: no order here and no period does.
  int next() const {
    if (calls_ < first_calls) return first_order[calls_];
    const bool alike = time_[1 - faster()] < 1.5 * time_[faster()];
    return calls_ % (alike ? 17 : 65) == 0 ? 1 - faster() : faster();
  }

  /// Whether the call that takes this way is to be timed, then took(), or only counted: reading the clock twice takes
  /// tens of nanoseconds. The first ones, those by the slower way, and one of four others.
  bool wants_time(int way) const { return calls_ < first_calls || way != faster() || calls_ % 4 == 0; }
  void untimed() { ++calls_; }

  /// A way has taken so long, in any unit. Calls that nobody can time do not count.
  void took(int way, std::uint64_t time) {
    double& known = time_[way];
    const auto now = static_cast<double>(std::max<std::uint64_t>(time, 1));
    // What a first call finds in no cache is not the way's, and neither is an interruption.
    if (calls_ < first_calls)
      known = known == 0 ? now : std::min(now, known);
    else if (now < known)
      known += (now - known) / 2;
    else
      known += (std::min(now, 4 * known) - known) / 4;
    ++calls_;
  }

  /// Both have been taken, and timed.
  bool knows_both() const { return time_[0] > 0 && time_[1] > 0; }

 private:
  int faster() const { return time_[1] < time_[0] ? 1 : 0; }

  static constexpr std::uint64_t first_calls = 6;
  static constexpr int first_order[first_calls] = {0, 1, 1, 0, 0, 1};

  std::uint64_t calls_ = 0;
  double time_[2] = {0, 0};  ///< 0: not known yet
};

/// One call that takes one of two ways, and is timed if that is wanted, by the rank that decides.
class Trial {
 public:
  /// ways: null on a rank that does not decide, or has nothing to decide; it takes way 0.
  explicit Trial(TwoWays* ways)
      : ways_(ways), way_(ways ? ways->next() : 0), times_(ways != nullptr && ways->wants_time(way_)) {}

  int way() const { return way_; }
  /// All are there, and could go either way.
  void begins() {
    begun_ = true;
    if (times_) begin_ = ticks();
  }
  /// All have finished. Nothing is learned where they had no choice and it did not begin.
  void ends() const {
    if (!ways_ || !begun_) return;
    if (times_)
      ways_->took(way_, ticks() - begin_);
    else
      ways_->untimed();
  }

 private:
  TwoWays* ways_;
  int way_;
  bool times_;
  bool begun_ = false;
  std::uint64_t begin_ = 0;
};

}  // namespace tutti
