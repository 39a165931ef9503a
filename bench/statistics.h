// Medians and how sure we are of them.
#pragma once

#include <vector>

namespace tutti::bench {

/// A median and its 95 % confidence interval, in the unit of the samples.
struct Median {
  double value = 0;
  double lower = 0;
  double upper = 0;
};

/// The interval is the one of order statistics: the samples number n/2 -+ 0.98 sqrt(n) of the sorted list. It assumes
/// nothing about the distribution, only that the samples do not depend on each other. All zero without samples.
Median median_of(std::vector<double> samples);

/// Half the width of the 95 % confidence interval of numerator/denominator, in percent of that ratio; the relative
/// half widths of the two medians are added in quadrature. This is "spread_pct" of the output.
double ratio_spread_percent(const Median& numerator, const Median& denominator);

}  // namespace tutti::bench
