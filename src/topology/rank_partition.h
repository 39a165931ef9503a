// Ranks cut into parts, finer and finer: what hierarchies and splits by hardware are made of. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::topology {

/// A partition of the ranks: the part of every rank, numbered densely from 0.
struct RankPartition {
  std::vector<int> part_of;
  int parts = 0;
};

RankPartition all_together(std::size_t ranks);

/// Splits every part by the domains that the ranks are in, one for each rank; ranks without a domain (-1) stay together.
RankPartition refine(const RankPartition& outer, std::span<const int> domain_of);

/// The level of an unguided split (MPI 4.1, MPI_COMM_SPLIT_TYPE). domains: of each rank as many as there are levels, the
/// outermost first, -1 for none. Returns the outermost level by which the ranks part, so that whoever are in one domain
/// of it are fewer than all; -1 if no level parts them.
int next_level(std::span<const int> domains, int levels);

}  // namespace tutti::topology
