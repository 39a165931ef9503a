// A barrier that says when its last rank came.
#pragma once

#include <cstdint>

#include "node_memory.h"

namespace tutti::bench {

/// All ranks wait for each other by flags of their own, as collectives of Tutti do, and not by the MPI's barrier, which
/// takes milliseconds where ranks share processors. Who waits gives its processor away, but does not sleep: processors
/// that have nothing to run are slow to wake up, and slower the longer the call was that they waited for.
class Meeting {
 public:
  /// memory: may be null, then nobody can meet. One object for the whole program.
  explicit Meeting(NodeMemory* memory);

  bool possible() const { return memory_ != nullptr; }

  /// Collective over MPI_COMM_WORLD. Returns the moment at which the last rank came, by shared_now_ns(): the same on
  /// all ranks.
  std::uint64_t wait();

 private:
  NodeMemory* memory_;
  bool crowded_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t last_ = 0;  ///< what the meeting before returned
};

}  // namespace tutti::bench
