#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace tutti::bench {

Median median_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const double last = count - 1;
  const double half_width = 0.98 * std::sqrt(count);
  const auto at = [&](double index) { return samples[static_cast<std::size_t>(std::clamp(index, 0.0, last))]; };
  const double middle = (at(std::floor(last / 2)) + at(std::ceil(last / 2))) / 2;
  return {middle, at(std::floor(last / 2 - half_width)), at(std::ceil(last / 2 + half_width))};
}

double ratio_spread_percent(const Median& numerator, const Median& denominator) {
  if (numerator.value <= 0 || denominator.value <= 0) return 0;
  const double a = (numerator.upper - numerator.lower) / 2 / numerator.value;
  const double b = (denominator.upper - denominator.lower) / 2 / denominator.value;
  return 100 * std::hypot(a, b);
}

}  // namespace tutti::bench
