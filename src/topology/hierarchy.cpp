// How it works: the ranks are cut into ever finer parts, from the outermost level inwards, so that the parts
// nest even where the machine's domains do not (a NUMA node over two sockets, an L3 over two NUMA nodes,
// unbound ranks). Then groups are formed from the inside out, each level among the leaders that the one below
// has left. Groups that are too wide are cut before their members meet.
#include "topology/hierarchy.h"

#include <algorithm>
#include <numeric>

#include "topology/rank_partition.h"

namespace tutti::topology {

namespace {

/// Splits every part by the domains of one level; ranks without a domain stay together.
RankPartition refine(const RankPartition& outer, const Placement& placement, LevelKind kind) {
  std::vector<int> domains;
  domains.reserve(placement.ranks.size());
  for (const RankPlace& place : placement.ranks) domains.push_back(place.domain[index_of(kind)]);
  return topology::refine(outer, domains);
}

/// The kinds without repetitions, outermost (fewest domains) first; of equals, the usually outer one first.
std::vector<LevelKind> outermost_first(const Placement& placement, std::span<const LevelKind> kinds) {
  std::vector<std::pair<int, LevelKind>> counted;
  const RankPartition together = all_together(placement.ranks.size());
  for (auto kind = all_level_kinds.rbegin(); kind != all_level_kinds.rend(); ++kind)
    if (std::find(kinds.begin(), kinds.end(), *kind) != kinds.end())
      counted.emplace_back(refine(together, placement, *kind).parts, *kind);
  std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LevelKind> out;
  out.reserve(counted.size());
  for (const auto& entry : counted) out.push_back(entry.second);
  return out;
}

enum class Who { together, consecutive };

/// Groups those of `participants` (rising) that are in one part, or those of them that follow one another there. Groups
/// come in order of their lowest member; groups of one are among them.
std::vector<Group> group_by_part(const RankPartition& partition, const std::vector<int>& participants, int root,
                                 Who who) {
  std::vector<int> group_of_part(static_cast<std::size_t>(partition.parts), -1);
  std::vector<Group> groups;
  for (const int rank : participants) {
    int& index = group_of_part[static_cast<std::size_t>(partition.part_of[static_cast<std::size_t>(rank)])];
    const bool was_left = who == Who::consecutive && index + 1 != static_cast<int>(groups.size());
    if (index < 0 || was_left) {
      index = static_cast<int>(groups.size());
      groups.push_back({rank, {}});
    }
    Group& group = groups[static_cast<std::size_t>(index)];
    group.members.push_back(rank);
    if (rank == root) group.leader = root;
  }
  return groups;
}

std::vector<int> leaders_of(const std::vector<Group>& groups) {
  std::vector<int> leaders;
  leaders.reserve(groups.size());
  for (const Group& group : groups) leaders.push_back(group.leader);
  std::sort(leaders.begin(), leaders.end());
  return leaders;
}

Level make_level(std::optional<LevelKind> kind, std::vector<Group> groups, std::size_t ranks) {
  std::erase_if(groups, [](const Group& group) { return group.members.size() < 2; });
  Level level{kind, std::move(groups), std::vector<int>(ranks, -1), false};
  for (std::size_t i = 0; i < level.groups.size(); ++i)
    for (const int rank : level.groups[i].members) level.group_of[static_cast<std::size_t>(rank)] = static_cast<int>(i);
  return level;
}

std::size_t widest_of(const std::vector<Group>& groups) {
  std::size_t widest = 0;
  for (const Group& group : groups) widest = std::max(widest, group.members.size());
  return widest;
}

/// How wide the groups are if `members` are joined by as few levels as possible of groups of at most `widest`.
std::size_t even_width(std::size_t members, std::size_t widest) {
  int levels = 1;
  for (std::size_t reach = widest; reach < members; reach *= widest) ++levels;
  const auto reached = [levels](std::size_t width) {
    std::size_t reach = 1;
    for (int level = 0; level < levels; ++level) reach *= width;
    return reach;
  };
  std::size_t width = 2;
  while (reached(width) < members) ++width;
  return width;
}

/// The parts of one group, of neighbours by core, or by rank.
void cut_into(std::vector<Group>& parts, const Placement& placement, const Group& group, std::size_t widest, Who who) {
  const auto core_of = [&](int rank) { return placement.ranks[static_cast<std::size_t>(rank)].core; };
  std::vector<int> by_core = group.members;
  if (who == Who::together)
    std::stable_sort(by_core.begin(), by_core.end(), [&](int a, int b) { return core_of(a) < core_of(b); });
  const std::size_t members = by_core.size();
  // Who is in a group that is not too wide is left for the level of that.
  const std::size_t width = members > widest ? even_width(members, widest) : 1;
  const std::size_t count = (members + width - 1) / width;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = by_core.begin() + static_cast<std::ptrdiff_t>(members * i / count);
    const auto end = by_core.begin() + static_cast<std::ptrdiff_t>(members * (i + 1) / count);
    std::sort(begin, end);
    const bool has_leader = std::find(begin, end, group.leader) != end;
    parts.push_back({has_leader ? group.leader : *begin, {begin, end}});
  }
}

std::vector<Group> cut(const Placement& placement, const std::vector<Group>& groups, std::size_t widest, Who who) {
  std::vector<Group> parts;
  for (const Group& group : groups) cut_into(parts, placement, group, widest, who);
  std::sort(parts.begin(), parts.end(),
            [](const Group& a, const Group& b) { return a.members.front() < b.members.front(); });
  return parts;
}

Hierarchy build_of(const Placement& placement, const Levels& levels, int root, Who who) {
  const std::size_t ranks = placement.ranks.size();
  std::vector<std::pair<std::optional<LevelKind>, RankPartition>> outside_in;
  outside_in.emplace_back(std::nullopt, all_together(ranks));
  for (const LevelKind kind : outermost_first(placement, levels.kinds))
    outside_in.emplace_back(kind, refine(outside_in.back().second, placement, kind));

  Hierarchy hierarchy{static_cast<int>(ranks), root, {}};
  std::vector<int> participants(ranks);
  std::iota(participants.begin(), participants.end(), 0);
  for (auto entry = outside_in.rbegin(); entry != outside_in.rend() && participants.size() > 1; ++entry) {
    std::vector<Group> groups = group_by_part(entry->second, participants, root, who);
    const auto to_come = static_cast<std::size_t>(outside_in.rend() - entry);
    while (levels.widest > 1 && widest_of(groups) > static_cast<std::size_t>(levels.widest) &&
           hierarchy.levels.size() + to_come < most_levels) {
      std::vector<Group> parts = cut(placement, groups, static_cast<std::size_t>(levels.widest), who);
      participants = leaders_of(parts);
      hierarchy.levels.push_back(make_level(std::nullopt, std::move(parts), ranks));
      hierarchy.levels.back().artificial = true;
      groups = group_by_part(entry->second, participants, root, who);
    }
    if (groups.size() == participants.size()) continue;
    // What joins everybody is the top, whatever its members share.
    const auto kind = groups.size() == 1 ? std::nullopt : entry->first;
    participants = leaders_of(groups);
    hierarchy.levels.push_back(make_level(kind, std::move(groups), ranks));
  }
  return hierarchy;
}

}  // namespace

Levels choose_levels(const LevelSpec& spec, const Placement& placement) {
  if (!spec.automatic) return {spec.kinds, spec.widest};
  constexpr std::array candidates{LevelKind::l3, LevelKind::numa, LevelKind::socket};
  std::vector<LevelKind> chosen;
  RankPartition current = all_together(placement.ranks.size());
  for (const LevelKind kind : outermost_first(placement, candidates)) {
    RankPartition finer = refine(current, placement, kind);
    // Parts nest, so that as many parts means the same parts.
    if (finer.parts == current.parts || finer.parts == static_cast<int>(placement.ranks.size())) continue;
    chosen.insert(chosen.begin(), kind);
    current = std::move(finer);
  }
  return {chosen, placement.oversubscribed() ? 0 : usual_widest};
}

Hierarchy build(const Placement& placement, std::span<const LevelKind> kinds, int root) {
  return build(placement, Levels{{kinds.begin(), kinds.end()}, 0}, root);
}

Hierarchy build(const Placement& placement, const Levels& levels, int root) {
  return build_of(placement, levels, root, Who::together);
}

Hierarchy build_in_rank_order(const Placement& placement, const Levels& levels, int root) {
  return build_of(placement, levels, root, Who::consecutive);
}

}  // namespace tutti::topology
