// The shape that a choice is made from: by the library for a communicator, by the tools for one that is only described.
#pragma once

#include <bit>
#include <cstddef>
#include <string_view>

#include "base/settings.h"
#include "network/nodes.h"
#include "selection/model.h"
#include "topology/distance.h"
#include "topology/placement.h"

namespace tutti {

/// What is the same for all calls on a communicator, and equal on all its ranks.
struct Surroundings {
  selection::Shape common;     ///< what does not depend on the call
  std::size_t window_min = 0;  ///< smallest allocation that lies in the window
  bool window = false;         ///< peers load and store large allocations
  bool ranks_are_threads = false;
  bool xpmem = false;
  bool cma = false;
};

/// How many ranks of the communicator take turns on a core; 1 where each has its own. oversubscribed: the node is.
double ranks_per_core_of(const topology::Placement& placement, int ranks, bool oversubscribed);

/// levels: depth of the hierarchy, 1 if it is flat. distances: by default all ranks share a cache. Without any mechanism:
/// the caller adds those that there are.
Surroundings surroundings_of(const Settings& settings, int ranks, int levels, double ranks_per_core,
                             const topology::Distances& distances = {});

/// Sizes are chosen for in classes (2^(k-1), 2^k]: a limit that is a power of two is inside its class. 0 and 1 are one.
inline std::size_t size_class_of(std::size_t bytes) {
  return static_cast<std::size_t>(bytes <= 1 ? 0 : std::bit_width(bytes - 1));
}

/// The shape of the calls in the size class of `bytes`.
selection::Shape call_shape(const Surroundings& surroundings, std::size_t bytes, bool regular, bool commutative);

/// What it is on a communicator that spans these nodes; equal on all of them.
void add_nodes(selection::Shape& shape, const network::Nodes& nodes);
/// The shape of the calls in the size class of `bytes` there, where no more is known. collective: as in TUTTI_ALGORITHM.
selection::Shape shape_between_nodes(const network::Nodes& nodes, std::string_view collective, std::size_t bytes,
                                     bool commutative);

}  // namespace tutti
