// Where one rank stands in the tree along which a collective moves data. The tree comes from the topology, from rank
// arithmetic, or is flat; what moves along it does not ask.
#pragma once

#include "engine/operation.h"

namespace tutti {

struct TreePlace {
  int parent = -1;       ///< -1: this is the root
  int predecessor = -1;  ///< who must have read from the parent before this rank begins; -1: nobody
  const int* children = nullptr;
  int child_count = 0;
  std::size_t chunk_bytes = 0;  ///< of the pipeline, from the parent to this rank
};

/// All others read from `root`.
TreePlace flat_place(Operation& operation, int root);

/// As the topology has it.
TreePlace place_in(Operation& operation, const topology::RankPlan& plan);

}  // namespace tutti
