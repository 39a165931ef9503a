// What the Fortran program takes from C: the calls that it compares its own with, ways, clock, start line, statistics.
// Its interfaces are in from_c.F90.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "../clock.h"
#include "../node_memory.h"
#include "../statistics.h"
#include "ways.h"

using tutti::bench::Clock;

namespace {

/// Of this process, from begin on.
struct Instruments {
  Clock clock;
  std::unique_ptr<tutti::bench::NodeMemory> memory = tutti::bench::NodeMemory::create(0);
  tutti::bench::StartLine start_line{memory.get(), clock};
};
std::unique_ptr<Instruments> instruments;

}  // namespace

extern "C" {

/// Collective over MPI_COMM_WORLD. 0 if there is nothing to compare. The host's own way is taken.
int tutti_begin() {
  if (!tutti::bench::ways_are_two()) return 0;
  tutti::bench::take(tutti::bench::Way::kHost);
  instruments = std::make_unique<Instruments>();
  return 1;
}

void tutti_end() {
  instruments.reset();
}

void tutti_take_way(int way) {
  tutti::bench::take(way == 0 ? tutti::bench::Way::kHost : tutti::bench::Way::kTutti);
}

void tutti_wait_for_start() {
  instruments->start_line.wait();
}

std::int64_t tutti_ticks() {
  return static_cast<std::int64_t>(Clock::ticks());
}

double tutti_us_between(std::int64_t begin, std::int64_t end) {
  return instruments->clock.nanoseconds_between(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)) /
         1000;
}

// Calls between two readings of the clock, with Fortran's type: to some hosts MPI_DOUBLE is another type, with faster
// operators.

void tutti_bcast_in_c(double* buffer, int count, std::int64_t* begin, std::int64_t* end) {
  *begin = tutti_ticks();
  MPI_Bcast(buffer, count, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD);
  *end = tutti_ticks();
}

void tutti_allreduce_in_c(const double* send, double* receive, int count, std::int64_t* begin, std::int64_t* end) {
  *begin = tutti_ticks();
  MPI_Allreduce(send, receive, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD);
  *end = tutti_ticks();
}

/// The mean of the middle half of the samples, the two ends of its 95 % confidence interval, and the median. Counters step:
/// by 10 ns on some machines, a tenth of a small call, and so would medians.
void tutti_middle_of(const double* samples, int count, double* middle) {
  std::vector<double> sorted(samples, samples + count);
  std::sort(sorted.begin(), sorted.end());
  const auto cut = static_cast<std::ptrdiff_t>(count / 4);
  middle[0] = std::accumulate(sorted.begin() + cut, sorted.end() - cut, 0.0) / static_cast<double>(count - 2 * cut);
  // The interval of a trimmed mean: the variance of the samples with what is cut off drawn in to the ends of the rest.
  std::fill(sorted.begin(), sorted.begin() + cut, sorted[static_cast<std::size_t>(cut)]);
  std::fill(sorted.end() - cut, sorted.end(), sorted[static_cast<std::size_t>(count - cut - 1)]);
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  const double squares = std::accumulate(sorted.begin(), sorted.end(), 0.0,
                                         [&](double sum, double each) { return sum + (each - mean) * (each - mean); });
  const double half_width = 1.96 * std::sqrt(squares / (count - 1.0) / count) / 0.5;
  middle[1] = middle[0] - half_width;
  middle[2] = middle[0] + half_width;
  middle[3] = tutti::bench::median_of({samples, samples + count}).value;
}
}
