// One cell of the benchmark: one collective at one size, both sides.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>

#include "clock.h"
#include "node_memory.h"
#include "options.h"
#include "sides.h"
#include "statistics.h"

namespace tutti::bench {

struct CellResult {
  Median host_us;
  Median tutti_us;  ///< zero if only the host was measured
  std::size_t repeats = 0;
  bool correct = true;  ///< no wrong result on any rank in any call that was checked
  Choice choice;        ///< of the last call of Tutti on rank 0
};

/// What a measurement needs beside the options.
struct Bench {
  const Options& options;
  const Clock& clock;
  StartLine& start_line;
  bool measure_tutti;
};

/// Collective over MPI_COMM_WORLD; the medians are right on rank 0 only. bytes is ignored for a barrier.
CellResult measure_cell(const Bench& bench, const std::string& collective, std::size_t bytes);

}  // namespace tutti::bench
