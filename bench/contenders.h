// The ways in which Tutti may carry out a collective, where several are compared with each other in one run.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "options.h"
#include "sides.h"

namespace tutti::bench {

/// What Tutti is asked for.
struct Contender {
  std::string algorithm;  ///< as TUTTI_ALGORITHM has it; empty: Tutti's own choice
  std::string mechanism;  ///< as TUTTI_MECHANISM has it; empty: any

  /// "throttled,k=4", "auto"
  std::string name() const;
  /// Asks for a mechanism that is not used for memory in the window.
  bool avoids_window() const { return !mechanism.empty() && mechanism != "window"; }
  /// Asks the library. Collective. False, on all ranks, if it cannot.
  bool select(MPI_Comm communicator) const {
    return set_choice(communicator, algorithm, mechanism.empty() ? "auto" : mechanism);
  }
  /// True if `choice` is what this asks for: an algorithm that is not eligible is not what ran. Messages that travel in
  /// a slot are of any mechanism.
  bool got(const Choice& choice) const;
};

/// Tutti's own choice, then, if the options compare any, each algorithm with each mechanism.
std::vector<Contender> contenders_of(const Options& options);

/// True if the choice has to do with no mechanism.
bool is_in_slot(const Choice& choice);

}  // namespace tutti::bench
