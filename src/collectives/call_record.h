// What became of the calls for which one choice was made. Counted by whoever carries out the calls, so that one call of
// the program is one call here, however many pieces it is cut into.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "selection/algorithm.h"

namespace tutti {

struct CallRecord {
  const char* collective;      ///< as in TUTTI_ALGORITHM
  bool regular;                ///< false: sizes differ between ranks, and have no class
  std::size_t size_class;      ///< sizes above 2^(size_class - 1) up to 2^size_class; in class 0, 0 and 1
  const char* algorithm;       ///< "host": the MPI's own
  const char* parameter_name;  ///< "k" or "j"; null without
  int parameter;
  selection::Reason reason;
  const char* kept = nullptr;  ///< of persistent calls: what is kept from one start to the next (TUTTI_PERSISTENT)

  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  ///< of what the size is the size of, in all calls together
  std::uint64_t ticks = 0;  ///< from the program's call to its return (base/ticks.h)

  /// Calls by how this rank's own buffer was reached. Names are constants, told apart by address.
  struct Mechanism {
    const char* name = nullptr;
    std::uint64_t calls = 0;
  };
  std::array<Mechanism, 8> mechanisms = {};

  void count(const char* mechanism, std::uint64_t call_bytes, std::uint64_t call_ticks) {
    ++calls;
    bytes += call_bytes;
    ticks += call_ticks;
    for (Mechanism& each : mechanisms) {
      if (each.name && each.name != mechanism) continue;
      each.name = mechanism;
      ++each.calls;
      return;
    }
  }
  bool is_for(const CallRecord& other) const {
    return collective == other.collective && regular == other.regular && size_class == other.size_class &&
           algorithm == other.algorithm && parameter == other.parameter && reason == other.reason && kept == other.kept;
  }
};

}  // namespace tutti
