#include "topology/distance.h"

#include <algorithm>
#include <compare>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "topology/machine_order.h"

namespace tutti::topology {

namespace {

/// The domains that tell distances apart; -1: none for sure.
struct Surrounding {
  int cache_kind = -1;  ///< what `cache` counts: caches of the outermost level that there is, else cores
  int cache = -1;
  int numa = -1;
  int socket = -1;

  friend auto operator<=>(const Surrounding&, const Surrounding&) = default;
};

Surrounding surrounding_of(const RankPlace& place) {
  const auto domain = [&](LevelKind kind) { return place.domain[index_of(kind)]; };
  Surrounding around{-1, -1, domain(LevelKind::numa), domain(LevelKind::socket)};
  const std::array candidates{domain(LevelKind::l3), domain(LevelKind::l2), place.core};
  for (std::size_t kind = 0; kind < candidates.size() && around.cache < 0; ++kind)
    if (candidates[kind] >= 0) around.cache_kind = static_cast<int>(kind), around.cache = candidates[kind];
  return around;
}

Distance distance_between(const Surrounding& a, const Surrounding& b) {
  const auto same = [](int one, int other) { return one >= 0 && one == other; };
  if (a.cache_kind == b.cache_kind && same(a.cache, b.cache)) return Distance::cache;
  // Where memory is interleaved between sockets, one NUMA node spans them.
  const bool other_socket = a.socket >= 0 && b.socket >= 0 && a.socket != b.socket;
  if (same(a.numa, b.numa) && !other_socket) return Distance::numa;
  return same(a.socket, b.socket) ? Distance::socket : Distance::machine;
}

double pairs_among(double ranks) {
  return ranks * (ranks - 1) / 2;
}

/// Makes parts of a whole of what was counted; all are near where nothing was.
DistanceShares shares_of(DistanceShares counted) {
  double all = 0;
  for (const double count : counted) all += count;
  if (all <= 0) return {1, 0, 0, 0};
  for (double& count : counted) count /= all;
  return counted;
}

DistanceShares count_pairs(const Placement& placement) {
  // Many ranks have the same surrounding: pairs of those are fewer than pairs of ranks.
  std::map<Surrounding, double> ranks_of;
  std::map<int, double> ranks_of_core;
  for (const RankPlace& place : placement.ranks) {
    ++ranks_of[surrounding_of(place)];
    if (place.core >= 0) ++ranks_of_core[place.core];
  }
  DistanceShares counted{};
  for (auto one = ranks_of.begin(); one != ranks_of.end(); ++one) {
    counted[index_of(distance_between(one->first, one->first))] += pairs_among(one->second);
    for (auto other = std::next(one); other != ranks_of.end(); ++other)
      counted[index_of(distance_between(one->first, other->first))] += one->second * other->second;
  }
  for (const auto& entry : ranks_of_core) counted[index_of(Distance::cache)] -= pairs_among(entry.second);
  return counted;
}

DistanceShares count_levels(const Placement& placement, const Hierarchy& hierarchy, bool artificial_too) {
  DistanceShares counted{};
  const auto place_of = [&](int rank) { return placement.ranks[static_cast<std::size_t>(rank)]; };
  for (const Level& level : hierarchy.levels) {
    if (level.artificial && !artificial_too) continue;
    Distance farthest = Distance::cache;
    for (const Group& group : level.groups)
      for (const int member : group.members)
        if (member != group.leader)
          farthest = std::max(farthest, topology::distance_between(place_of(group.leader), place_of(member)));
    ++counted[index_of(farthest)];
  }
  return counted;
}

/// Pairs of ranks that are next to each other in this order.
DistanceShares count_neighbors(const Placement& placement, std::span<const int> order) {
  DistanceShares counted{};
  const auto place_of = [&](std::size_t i) { return placement.ranks[static_cast<std::size_t>(order[i])]; };
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    ++counted[index_of(topology::distance_between(place_of(i), place_of(i + 1)))];
  return counted;
}

/// How far all these pairs are from each other, in steps of the distances.
double reach_of(const DistanceShares& counted) {
  double reach = 0;
  for (std::size_t i = 0; i < counted.size(); ++i) reach += static_cast<double>(i) * counted[i];
  return reach;
}

Branching branching_of(const Hierarchy& hierarchy) {
  Branching branching;
  // By rank: those that are reached through it so far, itself included, and what leaders handle on the longest way down.
  std::vector<double> reached(static_cast<std::size_t>(hierarchy.rank_count), 1.0), handled(reached.size(), 0.0);
  for (const Level& level : hierarchy.levels)
    for (const Group& group : level.groups) {
      const auto leader = static_cast<std::size_t>(group.leader);
      branching.group = std::max(branching.group, static_cast<double>(group.members.size()));
      for (const int rank : group.members) {
        const auto member = static_cast<std::size_t>(rank);
        if (member == leader) continue;
        if (group.leader == hierarchy.root) {
          ++branching.children;
          branching.largest = std::max(branching.largest, reached[member]);
        }
        if (reached[member] > 1) handled[leader] = std::max(handled[leader], reached[member] + handled[member]);
        reached[leader] += reached[member];
      }
    }
  branching.on_the_way = handled.empty() ? 0 : handled[static_cast<std::size_t>(hierarchy.root)];
  return branching;
}

}  // namespace

std::string_view name_of(Distance distance) {
  constexpr std::array<std::string_view, distance_count> names{"cache", "numa", "socket", "machine"};
  return names[index_of(distance)];
}

Distance distance_between(const RankPlace& a, const RankPlace& b) {
  return distance_between(surrounding_of(a), surrounding_of(b));
}

Distance Distances::widest() const {
  Distance widest = Distance::cache;
  for (const Distance distance : all_distances)
    if (pairs[index_of(distance)] > 0) widest = distance;
  return widest;
}

Distances distances(const Placement& placement, const Hierarchy& hierarchy, const Hierarchy& in_rank_order) {
  Distances out{shares_of(count_pairs(placement)), shares_of(count_levels(placement, hierarchy, true)),
                shares_of(count_levels(placement, hierarchy, false)), branching_of(hierarchy)};
  out.in_rank_order = {std::max(1, static_cast<int>(in_rank_order.levels.size())),
                       shares_of(count_levels(placement, in_rank_order, true)),
                       shares_of(count_levels(placement, in_rank_order, false)), branching_of(in_rank_order)};
  out.consecutive = out.pairs;
  if (placement.ranks.size() < 3) return out;  // there is nothing to scatter
  std::vector<int> by_rank(placement.ranks.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  const DistanceShares along = count_neighbors(placement, by_rank);
  out.scattered = reach_of(along) > reach_of(count_neighbors(placement, machine_order(placement, 0).ranks));
  out.consecutive = shares_of(along);
  return out;
}

Distances distances(const Placement& placement, const Levels& levels) {
  return distances(placement, build(placement, levels, 0), build_in_rank_order(placement, levels, 0));
}

}  // namespace tutti::topology
