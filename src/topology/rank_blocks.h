// Ranks cut into blocks of neighbours, for two-level algorithms that must keep rank order. Pure.
#pragma once

#include <vector>

#include "topology/hierarchy.h"

namespace tutti::topology {

/// Blocks of consecutive ranks that cover all ranks.
struct RankBlocks {
  std::vector<int> begin;  ///< of each block, rising, and the number of ranks at last
  std::vector<int> of;     ///< by rank: its block

  int count() const { return static_cast<int>(begin.size()) - 1; }
  int size(int block) const {
    return begin[static_cast<std::size_t>(block) + 1] - begin[static_cast<std::size_t>(block)];
  }
  int first(int block) const { return begin[static_cast<std::size_t>(block)]; }
  int last(int block) const { return begin[static_cast<std::size_t>(block) + 1] - 1; }

  friend bool operator==(const RankBlocks&, const RankBlocks&) = default;
};

/// The outermost groups of the hierarchy, if there are several and each is of consecutive ranks; otherwise blocks of
/// about the square root of the number of ranks, which follow no boundary of the machine.
RankBlocks rank_blocks(const Hierarchy& hierarchy);

}  // namespace tutti::topology
