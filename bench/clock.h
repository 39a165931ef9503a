// The clock of the benchmark: the processor's time-stamp counter where there is one, because reading it costs a few
// nanoseconds and clock_gettime costs as much as a small collective on some virtual machines.
#pragma once

#include <cstdint>

namespace tutti::bench {

/// Measures durations within one process. The constructor takes about 20 ms to learn the counter's frequency and the
/// cost of a reading, which nanoseconds_between() subtracts.
class Clock {
 public:
  Clock();

  /// The counter now. No instruction of the program moves across the reading.
  static std::uint64_t ticks();

  /// From one reading to a later one, without the cost of the reading itself; never negative.
  double nanoseconds_between(std::uint64_t start, std::uint64_t end) const;

  std::uint64_t ticks_in(double nanoseconds) const {
    return static_cast<std::uint64_t>(nanoseconds / nanoseconds_per_tick_);
  }

 private:
  double nanoseconds_per_tick_ = 1;
  double overhead_ns_ = 0;
};

/// The counter is one for all processors of this machine: the system itself keeps its time by it.
bool ticks_are_shared();

/// CLOCK_MONOTONIC, which all processes of a machine share: for agreeing on a moment, not for short durations.
std::uint64_t shared_now_ns();

/// Keeps the processor busy until shared_now_ns() has reached `deadline_ns`.
void spin_until_ns(std::uint64_t deadline_ns);

/// One turn of a polling loop.
void relax();

}  // namespace tutti::bench
