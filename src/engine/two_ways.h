// Which of two ways of doing the same is the faster one, learned by taking both: for what depends on things that are
// known nowhere and change, such as whether two virtual processors share a cache at present.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti {

class TwoWays {
 public:
  /// The way to take next, 0 or 1: by turns at first, then the faster one, and now and then the other: the less often,
  /// the more that costs.
  int next() {
    const std::uint64_t call = calls_++;
    if (call < 2 * first_looks) return static_cast<int>(call % 2);
    const int faster = time_[1] < time_[0] ? 1 : 0;
    const bool alike = time_[1 - faster] < 1.5 * time_[faster];
    return call % (alike ? 16 : 64) == 0 ? 1 - faster : faster;
  }

  /// A way has taken so long, in any unit.
  void took(int way, std::uint64_t time) {
    double& known = time_[way];
    const auto now = static_cast<double>(time);
    // What a first call finds in no cache is not the way's, and neither is an interruption.
    if (looks_[way] < first_looks)
      known = looks_[way]++ == 0 ? now : std::min(now, known);
    else if (now < known)
      known += (now - known) / 2;
    else
      known += (std::min(now, 4 * known) - known) / 4;
  }

 private:
  static constexpr int first_looks = 3;

  std::uint64_t calls_ = 0;
  int looks_[2] = {0, 0};
  double time_[2] = {0, 0};
};

}  // namespace tutti
