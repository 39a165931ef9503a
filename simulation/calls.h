// What calls take, measured as `tutti bench` does it (bench/cell.cpp): a loop that writes its data, calls, and uses the
// result, less the same loop without the call; and the time inside the call.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/prediction.h"
#include "simulation/ranks.h"

namespace tutti::simulated {

struct Question {
  std::string collective;      ///< as in TUTTI_ALGORITHM
  std::size_t bytes = 0;       ///< of the message; of a block where each rank has its own, or gets one
  std::string algorithm = {};  ///< "throttled,k=4"; empty: the library's choice
  int root = 0;
  int calls = 0;  ///< that count; 0: what fits
  /// Ranks meet before each call, and each call of the slowest counts, as benchmarks did before what a call costs the
  /// program was measured.
  bool meets = false;
};

struct Times {
  double cost = 0;        ///< s that the program loses by a call
  double inside = 0;      ///< s from entry to exit
  std::string algorithm;  ///< that ran; "host" if the library would leave it to the MPI
};

/// Throws std::runtime_error if there is no such collective. spans: null, or what ranks do in the last call.
Times measure(Ranks& ranks, const Question& question, std::vector<Span>* spans = nullptr);

/// What the model makes of the same: candidates that are eligible, with seconds, and its choice.
Predictions predict(Ranks& ranks, const Question& question);

}  // namespace tutti::simulated
