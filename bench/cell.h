// One cell of the benchmark: one collective at one size, the host's and Tutti's, or several of Tutti's.
#pragma once

#include <cstddef>
#include <vector>

#include "clock.h"
#include "collectives/collective.h"
#include "contenders.h"
#include "node_memory.h"
#include "options.h"
#include "sides.h"
#include "state_gate.h"
#include "statistics.h"

namespace tutti::bench {

/// Of one side.
struct Times {
  Median cost_us;        ///< what the program loses by a call
  double inside_us = 0;  ///< from entry to exit, median
};

/// One contender's part.
struct Outcome {
  Contender contender;
  Times times;
  bool correct = true;
  Choice choice;             ///< of its last call on rank 0
  double predicted_us = -1;  ///< by the library's model; negative if it does not say
  double overlap = -1;       ///< as CellResult::host_overlap
};

/// What was measured in one state of the machine.
struct CellResult {
  double flag_us = -1;  ///< what a flag between ranks 0 and 1 took; negative where it cannot be timed
  Times host;
  double host_overlap = -1;       ///< the part of a call that goes on while the rank computes; negative: not measured
  std::vector<Outcome> outcomes;  ///< those that could do what they were asked for; empty if only the host was measured
  std::size_t repeats = 0;        ///< turns that count
  bool host_correct = true;       ///< no wrong result on any rank in any call
};

/// What a measurement needs beside the options.
struct Bench {
  const Options& options;
  const Clock& clock;
  StartLine& start_line;
  Floor& floor;
  bool measure_tutti;
};

/// Bytes of all buffers that the cell needs on this rank.
std::size_t buffer_bytes(const Options& options, const Collective& collective, int rank);

/// How many there are of the kind that the options ask for, on this rank.
std::size_t buffer_capacity(const Options& options);

/// Collective over the communicator of `collective`; the figures are right on rank 0 only, how many results there are on
/// all. A result for each state in which the machine was, the one with the quicker flag first; none if it was never in
/// the one that is asked for.
/// prediction: for this cell, to leave out what the options rule out.
std::vector<CellResult> measure_cell(const Bench& bench, const Collective& collective, const Place& place,
                                     const Prediction& prediction);

}  // namespace tutti::bench
