// Whether a rank lends what its peers reach only through the kernel as it is, or a copy that they can map, and if that is
// made through the caches or past them: learned by doing all three. Each rank decides for its own memory alone: how that
// is reached travels with it. Where algorithms are tried, a way of lending is part of a candidate instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>

#include "base/ticks.h"
#include "engine/moving.h"
#include "memory/stream.h"

namespace tutti {

/// Which of a few ways of doing the same is the fastest one. One call takes several times as long as another without a
/// reason to be seen, also because peers try as well: so some calls on end, a run, take the same way.
class Ways {
 public:
  static constexpr int count = 3;

  /// The way that a call is to take, 0 to count - 1: each in two short runs at first, unless it takes more than twice as
  /// long as another, then the fastest one, and now and then another: the less often, the more that costs, and the longer
  /// nothing has changed.
  int next() {
    if (calls_ == 0) way_ = way_of_run();
    return way_;
  }

  /// The call that took it has ended, after so many ticks.
  void took(std::uint64_t ticks) {
    // What the way before has left behind is in the first call.
    if (++calls_ == 1) return;
    const int timed = calls_ - 1;
    times_[timed - 1] = ticks;
    const int enough = runs_of_[way_] < first_runs ? first_calls : calls_max;
    if (timed < enough && (timed < 2 || std::accumulate(times_, times_ + timed, std::uint64_t{0}) < long_ticks)) return;
    ends_run(middle_of(timed));
    calls_ = 0;
  }

 private:
  static constexpr int first_runs = 2, first_calls = 3, calls_max = 8;
  static constexpr std::uint64_t long_ticks = 5'000'000;  ///< some milliseconds
  /// Another way becomes the best one if it takes less than so much of its time: runs of one way differ, too.
  static constexpr double worth_a_change = 0.88;
  /// The periods between looks double so often.
  static constexpr int patience_max = 4;
  static constexpr std::uint64_t longest_period = 513;

  int way_of_run() const {
    for (int tried = 0; tried < first_runs; ++tried)
      for (int way = 0; way < count; ++way)
        if (runs_of_[way] == tried && (tried == 0 || time_[way] <= 2 * time_[best_])) return way;
    for (int way = 0; way < count; ++way) {
      if (way == best_) continue;
      const double times = time_[way] / time_[best_];
      const std::uint64_t period = times < 1.2 ? 5 : times < 1.5 ? 17 : times < 3 ? 65 : 257;
      if (runs_ >= looked_[way] + std::min(longest_period, period << patience_ | 1)) return way;
    }
    return best_;
  }

  /// The mean of the middle half of the times: one interruption would outweigh all the rest.
  double middle_of(int timed) {
    std::sort(times_, times_ + timed);
    const int left_out = (timed + 1) / 4;
    const std::uint64_t sum = std::accumulate(times_ + left_out, times_ + timed - left_out, std::uint64_t{0});
    return std::max(1.0, static_cast<double>(sum) / (timed - 2 * left_out));
  }

  void ends_run(double time) {
    double& known = time_[way_];
    const bool first = runs_of_[way_] < first_runs;
    if (first)
      known = runs_of_[way_]++ == 0 ? time : std::min(time, known);
    else
      // A mean, lest a way win that is fast every other time. What is seldom looked at has but few times to know it by.
      known += (std::min(time, 4 * known) - known) / (way_ == best_ ? 4 : 2);
    looked_[way_] = ++runs_;
    int fastest = best_;
    for (int way = 0; way < count; ++way)
      if (runs_of_[way] > 0 && time_[way] < time_[fastest]) fastest = way;
    if (time_[fastest] < worth_a_change * time_[best_]) {
      best_ = fastest;
      patience_ = 0;
    } else if (!first && way_ != best_ && patience_ < patience_max) {
      ++patience_;
    }
  }

  int way_ = 0;                       ///< of the run that is under way
  int calls_ = 0;                     ///< in that; 0 between runs
  std::uint64_t times_[calls_max]{};  ///< of all but the first
  std::uint64_t runs_ = 0;
  int best_ = 0;                   ///< the fastest, or so nearly that it was kept
  int patience_ = 0;               ///< looks since then that have changed nothing
  double time_[count]{};           ///< of a call
  int runs_of_[count]{};           ///< up to first_runs
  std::uint64_t looked_[count]{};  ///< runs before the last one of this way had ended
};

/// For one call.
class StagingTrial {
 public:
  /// ways: made when the first call has such memory; null: the call lends no copies.
  explicit StagingTrial(std::unique_ptr<Ways>* ways) : ways_(ways), lending_(Lending::as_it_is) {}
  /// It is known how.
  explicit StagingTrial(Lending lending) : lending_(lending) {}

  /// Whether this call lends copies; asked when it meets such memory.
  bool lends_copies() {
    if (ways_ && !met_) {
      if (!*ways_) *ways_ = std::make_unique<Ways>();
      lending_ = static_cast<Lending>((*ways_)->next());
      begin_ = ticks();
    }
    met_ = true;
    return lending_ != Lending::as_it_is;
  }
  /// How to make them.
  memory::Store store() const {
    return lending_ == Lending::copied_past_caches ? memory::Store::streaming : memory::Store::cached;
  }
  /// The call has ended.
  void ends() const {
    if (ways_ && met_) (*ways_)->took(ticks() - begin_);
  }

 private:
  std::unique_ptr<Ways>* ways_ = nullptr;
  Lending lending_;
  bool met_ = false;
  std::uint64_t begin_ = 0;
};

}  // namespace tutti
