#include "topology/rank_blocks.h"

#include <algorithm>

namespace tutti::topology {

namespace {

/// Who stands for `rank` in the top level: the leader of its outermost group below that, or the rank itself.
int representative(const Hierarchy& hierarchy, int rank) {
  for (std::size_t level = 0; level + 1 < hierarchy.levels.size(); ++level) {
    const Level& each = hierarchy.levels[level];
    const int group = each.group_of[static_cast<std::size_t>(rank)];
    if (group >= 0) rank = each.groups[static_cast<std::size_t>(group)].leader;
  }
  return rank;
}

/// Where the representative changes from one rank to the next; empty if one comes back.
std::vector<int> boundaries(const Hierarchy& hierarchy) {
  std::vector<int> begin;
  std::vector<int> seen;
  for (int rank = 0; rank < hierarchy.rank_count; ++rank) {
    const int now = representative(hierarchy, rank);
    if (!seen.empty() && now == seen.back()) continue;
    if (std::find(seen.begin(), seen.end(), now) != seen.end()) return {};
    seen.push_back(now);
    begin.push_back(rank);
  }
  return begin;
}

}  // namespace

RankBlocks rank_blocks(const Hierarchy& hierarchy) {
  RankBlocks blocks;
  if (hierarchy.levels.size() > 1) blocks.begin = boundaries(hierarchy);
  if (blocks.begin.size() < 2) {
    blocks.begin.clear();
    int length = 1;
    while (length * length < hierarchy.rank_count) ++length;
    for (int rank = 0; rank < hierarchy.rank_count; rank += length) blocks.begin.push_back(rank);
  }
  blocks.begin.push_back(hierarchy.rank_count);
  for (int block = 0; block < blocks.count(); ++block)
    blocks.of.insert(blocks.of.end(), static_cast<std::size_t>(blocks.size(block)), block);
  return blocks;
}

}  // namespace tutti::topology
