#include "topology/rank_partition.h"

#include <algorithm>
#include <cstdint>

namespace tutti::topology {

RankPartition all_together(std::size_t ranks) {
  return {std::vector<int>(ranks, 0), ranks ? 1 : 0};
}

RankPartition refine(const RankPartition& outer, std::span<const int> domain_of) {
  std::vector<std::uint64_t> keys(outer.part_of.size());
  for (std::size_t rank = 0; rank < keys.size(); ++rank)
    keys[rank] =
        static_cast<std::uint64_t>(outer.part_of[rank]) << 32 | static_cast<std::uint32_t>(domain_of[rank] + 1);
  std::vector<std::uint64_t> distinct = keys;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  RankPartition inner{std::vector<int>(keys.size()), static_cast<int>(distinct.size())};
  for (std::size_t rank = 0; rank < keys.size(); ++rank)
    inner.part_of[rank] =
        static_cast<int>(std::lower_bound(distinct.begin(), distinct.end(), keys[rank]) - distinct.begin());
  return inner;
}

int next_level(std::span<const int> domains, int levels) {
  if (levels <= 0) return -1;
  const auto width = static_cast<std::size_t>(levels);
  const std::size_t ranks = domains.size() / width;
  std::vector<int> domain_of(ranks);
  for (std::size_t level = 0; level < width; ++level) {
    for (std::size_t rank = 0; rank < ranks; ++rank) domain_of[rank] = domains[rank * width + level];
    if (refine(all_together(ranks), domain_of).parts > 1) return static_cast<int>(level);
  }
  return -1;
}

}  // namespace tutti::topology
