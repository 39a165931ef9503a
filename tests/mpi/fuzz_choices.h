// What the library is asked to take for the fuzzer's collectives: its own choice, or algorithms and a mechanism that
// are drawn; and what it took.
#pragma once

#include <map>

#include "fuzz.h"

namespace tutti::tests {

class Choices {
 public:
  /// Asks for an eligible algorithm for each collective among `operations` and for a mechanism, as `draw` says, on this
  /// rank's communicator, which may be MPI_COMM_NULL. Collective over MPI_COMM_WORLD.
  void ask(MPI_Comm communicator, const std::vector<std::unique_ptr<FuzzOperation>>& operations, std::uint64_t draw);
  /// The library chooses for itself again. Collective over MPI_COMM_WORLD.
  void forget();
  /// What was asked for, for the report of a failure; empty if nothing.
  const std::string& words() const { return words_; }

  /// Counts what ran, right after the operation did.
  void count(const FuzzOperation& operation);
  /// A line for each algorithm that ran, or is eligible for all ranks, on this rank: how often, by which mechanisms.
  void print() const;

 private:
  struct Algorithm {
    bool eligible = false;           ///< on a communicator of all ranks, for some size that an operation had
    int asked = 0;                   ///< operations that it was asked for
    std::map<std::string, int> ran;  ///< by mechanism
  };
  std::string draw_algorithm(MPI_Comm communicator, const FuzzOperation& operation, std::uint64_t draw);

  bool asked_ = false;
  std::string words_;
  std::map<std::string, std::string> asked_names_;                       ///< by collective, without parameters
  std::map<std::pair<std::string, std::string>, Algorithm> algorithms_;  ///< by collective and name
};

}  // namespace tutti::tests
