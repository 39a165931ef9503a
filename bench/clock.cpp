#include "clock.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "base/processor.h"

namespace tutti::bench {

std::uint64_t shared_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

bool ticks_are_shared() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == processor::clock_source;
}

void relax() {
  processor::relax();
}

void spin_until_ns(std::uint64_t deadline_ns) {
  while (shared_now_ns() < deadline_ns) relax();
}

std::uint64_t Clock::ticks() {
  return processor::ticks_in_order();
}

Clock::Clock() {
  const std::uint64_t start_ns = shared_now_ns();
  const std::uint64_t start = ticks();
  spin_until_ns(start_ns + 20'000'000);
  const std::uint64_t end_ns = shared_now_ns();
  const std::uint64_t end = ticks();
  nanoseconds_per_tick_ = static_cast<double>(end_ns - start_ns) / static_cast<double>(end - start);

  std::vector<std::uint64_t> readings(1001);
  for (auto& reading : readings) {
    const std::uint64_t first = ticks();
    reading = ticks() - first;
  }
  std::nth_element(readings.begin(), readings.begin() + 500, readings.end());
  overhead_ns_ = static_cast<double>(readings[500]) * nanoseconds_per_tick_;
}

double Clock::nanoseconds_between(std::uint64_t start, std::uint64_t end) const {
  return std::max(0.0, static_cast<double>(end - start) * nanoseconds_per_tick_ - overhead_ns_);
}

}  // namespace tutti::bench
