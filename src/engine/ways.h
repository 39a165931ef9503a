// Which of a few ways of doing the same is the fastest one, learned by taking them all: for what depends on things that
// are known nowhere and change, such as whether two virtual processors share a cache at present.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>

#include "base/ticks.h"
#include "memory/stream.h"

namespace tutti {

class Ways {
 public:
  static constexpr int most = 4;
  static constexpr int none = -1;

  /// The way to take next, 0 to count - 1: each some times at first, then the fastest one, and now and then another:
  /// the less often, the more that costs, and the longer nothing has changed. Programs repeat themselves, often in twos:
  /// no order here and no period does.
  int next(int count, bool in_runs = false) {
    if (calls_ < settled_until_ && count == settled_count_) return settled_;
    int tries = 0;
    int first = 0, last = 0;  // of those that were tried least
    for (int way = 0; way < count; ++way) {
      const int of_way = tries_of(way);
      tries += of_way;
      if (of_way < tries_of(first)) first = way;
      if (of_way <= tries_of(last)) last = way;
    }
    if (tries_of(first) < first_tries) return tries / count % 2 == 0 ? first : last;
    const int best = best_of(count);
    std::uint64_t look_at = calls_ + longest_period;
    for (int way = 0; way < count; ++way) {
      if (way == best) continue;
      const double times = time_[way] / time_[best];
      // Runs scatter so much that what is close is to be looked at often; and there a look costs little.
      const std::uint64_t period = in_runs && times < 1.2 ? 5 : times < 1.5 ? 17 : times < 3 ? 65 : 257;
      // The first looks come sooner: before, what took long may have been the buffers, used for the first time.
      const std::uint64_t soon = 3 * looked_[way] + (in_runs ? 2 : 8);
      const std::uint64_t due = looked_[way] + std::min({longest_period, period << patience_ | 1, soon});
      if (calls_ >= due) return way;
      look_at = std::min(look_at, due);
    }
    settled_ = best;
    settled_count_ = count;
    settled_until_ = look_at;
    return best;
  }

  /// Whether the call that takes this way is to be timed, then took(), or only counted: reading the clock twice takes
  /// tens of nanoseconds. All until a look has changed nothing, those by slower ways, and one of five others.
  bool wants_time(int way, int count) const {
    return patience_ == 0 || tries_[way] < first_tries || way != best_of(count) || calls_ % 5 == 0;
  }
  void untimed() { ++calls_; }

  /// A way has taken so long, in any unit. Calls that nobody can time do not count. change: another way becomes the best
  /// one if it takes less than so much of its time. home: the way to take in doubt. It is left for one that was faster in
  /// all of its first tries, and returned to as soon as it is the faster one.
  void took(int way, std::uint64_t time, double change = worth_a_change, int home = none) {
    double& known = time_[way];
    const auto now = static_cast<double>(std::max<std::uint64_t>(time, 1));
    // What a first call finds in no cache is not the way's, and neither is an interruption.
    const bool first = tries_[way] < first_tries;
    if (first)
      known = tries_[way]++ == 0 ? now : home == none || way == home ? std::min(now, known) : std::max(now, known);
    else
      // A mean, lest a way win that is fast every other time. What is seldom looked at has but few times to know it by.
      known += (std::min(now, 4 * known) - known) / (way == best_ ? 4 : 2);
    looked_[way] = ++calls_;
    int fastest = best_;
    for (int other = 0; other < most; ++other)
      if (tries_[other] > (home == none || other == home ? 0 : 1) && time_[other] < time_[fastest]) fastest = other;
    const bool changes = time_[fastest] < (fastest == home ? worth_a_change : change) * time_[best_];
    if (changes || way != best_) settled_until_ = 0;
    if (changes) best_ = fastest;
    if (first || changes) return starts_again();
    const double times = time_[best_] / usual_;
    if (times < 0.5) {
      // The others may have become faster too, and are to be looked at as soon as if they had.
      for (int other = 0; other < most; ++other)
        if (other != best_) time_[other] *= times;
    }
    if (times < 0.5 || times > 2)
      starts_again();
    else if (way != best_ && patience_ < patience_max)
      ++patience_;
  }

  /// As next(), where one call takes several times as long as another without a reason to be seen, as where ranks share
  /// cores: some calls on end take the same way. Each is first tried in two short runs: there may not be many calls.
  int next_of_run(int count) {
    if (run_calls_ == 0 || run_way_ >= count) {
      run_way_ = next(count, true);
      run_calls_ = 0;
      run_time_ = 0;
    }
    return run_way_;
  }
  /// A call has taken so many ticks; it counts if it went the way of the run. What the way before has left behind is in
  /// the first one.
  void took_in_run(int way, std::uint64_t ticks, int home = none) {
    if (way != run_way_ || ++run_calls_ == 1) return;
    const int timed = run_calls_ - 1;
    run_times_[timed - 1] = ticks;
    run_time_ += ticks;
    const int enough = tries_[way] < first_runs ? first_run_calls : run_calls_max;
    if (timed < enough && (timed < 2 || run_time_ < long_run_ticks)) return;
    took(way, middle_of_run(timed), worth_a_change_of_runs, home);
    if (tries_[way] == first_runs) tries_[way] = first_tries;
    run_calls_ = 0;
  }

  /// It has been taken, and timed.
  bool knows(int way) const { return tries_[way] > 0; }

 private:
  /// The mean of the middle half of the run's times: one interruption would outweigh all the rest.
  std::uint64_t middle_of_run(int timed) {
    std::sort(run_times_, run_times_ + timed);
    const int left_out = (timed + 1) / 4;
    const std::uint64_t sum = std::accumulate(run_times_ + left_out, run_times_ + timed - left_out, std::uint64_t{0});
    return sum / static_cast<std::uint64_t>(timed - 2 * left_out);
  }

  /// What comes now is the usual, and the others are looked at often.
  void starts_again() {
    usual_ = time_[best_];
    patience_ = 0;
    settled_until_ = 0;
  }

  /// Calls of one size may have more ways than others: what stores into a block may have three, what stores a bit less
  /// only two.
  int best_of(int count) const {
    return best_ < count ? best_ : static_cast<int>(std::min_element(time_, time_ + count) - time_);
  }

  /// Enough where it has taken more than twice as long as another: there may not be many calls of a long message. But
  /// the first way of all is tried before anything is in the caches.
  int tries_of(int way) const {
    const bool hopeless = tries_[way] > (way == 0 ? 1 : 0) && time_[way] > 2 * time_[best_];
    return hopeless ? first_tries : tries_[way];
  }

  static constexpr int first_tries = 3;
  /// Of two that are as good as each other one is kept: after a change the cache lines are where the other way left them.
  static constexpr double worth_a_change = 0.96;
  /// Runs of one way differ by more than that.
  static constexpr double worth_a_change_of_runs = 0.88;
  /// The periods between looks double so often.
  static constexpr int patience_max = 4;
  static constexpr std::uint64_t longest_period = 513;

  // First what every call looks at.
  std::uint64_t calls_ = 0;
  // What next() said last; it holds for so many ways up to so many calls, unless something changes.
  std::uint64_t settled_until_ = 0;
  int settled_ = 0, settled_count_ = 0;
  int best_ = 0;      ///< the fastest, or so nearly that it was kept
  int patience_ = 0;  ///< looks since the best one became that, or changed its time, that have changed nothing
  double time_[most] = {};
  int tries_[most] = {};             ///< up to first_tries
  std::uint64_t looked_[most] = {};  ///< calls before a way was timed last
  // Of the run that is under way; between runs, run_calls_ is 0.
  static constexpr int run_calls_max = 8;
  static constexpr int first_runs = 2;
  static constexpr int first_run_calls = 3;
  static constexpr std::uint64_t long_run_ticks = 5'000'000;  ///< some milliseconds
  int run_way_ = 0;
  int run_calls_ = 0;
  std::uint64_t run_time_ = 0;                   ///< of all its timed calls
  std::uint64_t run_times_[run_calls_max] = {};  ///< of each of them
  double usual_ = 0;  ///< time of the best one when it became that, or began to take twice or half as long
};

/// One call that takes one of some ways, and is timed if that is wanted, by the rank that decides.
class Trial {
 public:
  /// ways: null on a rank that does not decide, or has nothing to decide; it takes way 0.
  /// in_runs: see Ways::next_of_run.
  explicit Trial(Ways* ways, int count = 2, bool in_runs = false)
      : ways_(ways),
        way_(!ways     ? 0
             : in_runs ? ways->next_of_run(count)
                       : ways->next(count)),
        in_runs_(in_runs),
        times_(ways != nullptr && (in_runs || ways->wants_time(way_, count))) {}

  int way() const { return way_; }
  /// All are there, and could go any way.
  void begins() {
    begun_ = true;
    if (times_) begin_ = ticks();
  }
  /// From begins() to ends().
  bool is_timed() const { return times_; }
  /// This rank has finished, and another will when it hears of that: then its answer comes twice as long from now.
  void ends_at_other() { answer_begin_ = ticks(); }
  /// All have finished. Nothing is learned where they had no choice and it did not begin.
  void ends() const {
    if (!ways_ || !begun_) return;
    if (!times_) return ways_->untimed();
    const std::uint64_t now = ticks();
    const std::uint64_t time = now - begin_ - (answer_begin_ != 0 ? (now - answer_begin_) / 2 : 0);
    if (in_runs_)
      ways_->took_in_run(way_, time);
    else
      ways_->took(way_, time);
  }

 private:
  Ways* ways_;
  int way_;
  bool in_runs_;
  bool times_;
  bool begun_ = false;
  std::uint64_t begin_ = 0;
  std::uint64_t answer_begin_ = 0;  ///< 0: none is waited for
};

/// For one call: whether a rank lends what its peers reach only through the kernel as it is, or a copy that they can
/// map, and if that is made through the caches or past them. Which is faster is found out (Ways). Each rank decides for its own memory alone: how that is reached travels
/// with it.
class StagingTrial {
 public:
  /// ways: made when the first call has such memory; null: the call lends no copies.
  StagingTrial(std::unique_ptr<Ways>* ways, bool in_runs) : ways_(ways), in_runs_(in_runs) {}

  /// Whether this call lends copies; asked when it meets such memory.
  bool lends_copies() {
    if (!ways_) return false;
    if (!trial_) {
      if (!*ways_) *ways_ = std::make_unique<Ways>();
      trial_.emplace(ways_->get(), 3, in_runs_);
      trial_->begins();
    }
    return trial_->way() != way_kernel;
  }
  /// How to make them.
  memory::Store store() const {
    return trial_ && trial_->way() == way_past_caches ? memory::Store::streaming : memory::Store::cached;
  }
  /// The call has ended.
  void ends() const {
    if (trial_) trial_->ends();
  }

 private:
  static constexpr int way_kernel = 0, way_past_caches = 2;
  std::unique_ptr<Ways>* ways_;
  bool in_runs_;
  std::optional<Trial> trial_;
};

}  // namespace tutti
