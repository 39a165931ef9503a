#include "topology/tree.h"

#include <algorithm>

namespace tutti::topology {

namespace {

int position_in(const std::vector<int>& members, int rank) {
  return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) - members.begin());
}

Membership membership(const Hierarchy& hierarchy, std::size_t level, int group_index, int rank) {
  const Group& group = hierarchy.levels[level].groups[static_cast<std::size_t>(group_index)];
  Membership out;
  out.level = static_cast<int>(level);
  out.group = group_index;
  out.leader = group.leader;
  out.position = position_in(group.members, rank);
  out.leads = group.leader == rank;
  out.members = group.members;
  return out;
}

/// By rank: whom it reads a broadcast from; -1 for the root.
std::vector<int> parents_in(const Hierarchy& hierarchy) {
  std::vector<int> parents(static_cast<std::size_t>(hierarchy.rank_count), -1);
  for (const Level& level : hierarchy.levels)
    for (const Group& group : level.groups)
      for (const int member : group.members)
        if (member != group.leader) parents[static_cast<std::size_t>(member)] = group.leader;
  return parents;
}

/// The ranks whose way to the root leads through `rank`, itself included, rising.
std::vector<int> reached_through(const std::vector<int>& parents, int rank) {
  std::vector<int> out;
  for (int from = 0; from < static_cast<int>(parents.size()); ++from) {
    int at = from;
    while (at >= 0 && at != rank) at = parents[static_cast<std::size_t>(at)];
    if (at == rank) out.push_back(from);
  }
  return out;
}

Branch branch_of(const std::vector<int>& parents, int rank, const std::vector<int>& above) {
  Branch out{rank, reached_through(parents, rank), {}};
  for (const int each : out.ranks) out.places.push_back(position_in(above, each));
  return out;
}

int domain_of(const Placement& placement, int rank, LevelKind kind) {
  return placement.ranks[static_cast<std::size_t>(rank)].domain[index_of(kind)];
}

void count_edge(const Placement& placement, int parent, int child, MessageCounts& counts) {
  const auto differ = [&](LevelKind kind) {
    return domain_of(placement, parent, kind) != domain_of(placement, child, kind);
  };
  if (differ(LevelKind::socket)) {
    ++counts.inter_socket;
  } else if (differ(LevelKind::numa)) {
    ++counts.inter_numa;
  } else {
    ++counts.intra_numa;
  }
}

}  // namespace

std::vector<int> Membership::children() const {
  if (!leads) return {};
  std::vector<int> out = members;
  out.erase(out.begin() + position);
  return out;
}

RankPlan plan(const Hierarchy& hierarchy, int rank) {
  RankPlan out;
  out.rank = rank;
  out.root = hierarchy.root;
  out.children.resize(hierarchy.levels.size());
  for (std::size_t level = 0; level < hierarchy.levels.size(); ++level) {
    const int group = hierarchy.levels[level].group_of[static_cast<std::size_t>(rank)];
    if (group < 0) continue;
    out.memberships.push_back(membership(hierarchy, level, group, rank));
    const Membership& member = out.memberships.back();
    if (!member.leads) {
      out.parent = member.leader;
      out.parent_level = member.level;
      break;  // a mere member takes no part in the levels further out
    }
    out.children[level] = member.children();
    out.child_count += static_cast<int>(out.children[level].size());
  }
  const std::vector<int> parents = parents_in(hierarchy);
  if (out.parent >= 0)
    out.own = branch_of(parents, rank, reached_through(parents, out.parent));
  else
    out.own = {rank, reached_through(parents, rank), {}};
  for (const auto& children : out.children)
    for (const int child : children) out.branches.push_back(branch_of(parents, child, out.own.ranks));
  return out;
}

MessageCounts message_counts(const Hierarchy& hierarchy, const Placement& placement) {
  MessageCounts counts;
  for (const Level& level : hierarchy.levels)
    for (const Group& group : level.groups)
      for (const int member : group.members)
        if (member != group.leader) count_edge(placement, group.leader, member, counts);
  return counts;
}

}  // namespace tutti::topology
