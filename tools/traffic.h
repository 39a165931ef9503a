// What a collective copies between ranks on a machine that is only described: its ranks are threads here, and each counts
// what it copies. So it is the library's own code that is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "topology/placement.h"

namespace tutti {

/// Messages, or bytes, by the farthest boundary that they cross.
struct ByBoundary {
  std::uint64_t inter_socket = 0;
  std::uint64_t inter_numa = 0;  ///< within one socket
  std::uint64_t intra_numa = 0;

  friend bool operator==(const ByBoundary&, const ByBoundary&) = default;
};

/// Of one call. A message is whatever goes from one rank to another one in it, however many copies that takes.
struct Traffic {
  std::string algorithm;
  ByBoundary messages, bytes;
};

struct TrafficAsked {
  std::string_view collective;  ///< as in TUTTI_ALGORITHM
  std::size_t bytes = 0;        ///< of the message, or of one block
  int root = 0;
  bool commutative = true;     ///< the operator
  std::string algorithm = {};  ///< as TUTTI_ALGORITHM has it; empty: as the library chooses
};

/// Those that can be asked for, in the order in which they are shown.
const std::vector<std::string_view>& counted_collectives();

/// One of each that is asked for, with memory that peers can map. Throws std::runtime_error if the system gives no memory
/// or no threads.
std::vector<Traffic> count_traffic(const topology::Placement& placement, const Settings& settings,
                                   const std::vector<TrafficAsked>& asked);

}  // namespace tutti
