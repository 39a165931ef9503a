// How far apart cores are: by the innermost thing that they share. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "topology/hierarchy.h"
#include "topology/placement.h"

namespace tutti::topology {

/// What two cores share, nearest first: a last-level cache or a nearer one, a NUMA node, a socket, or none of these.
enum class Distance { cache, numa, socket, machine };

inline constexpr std::size_t distance_count = 4;
inline constexpr std::array<Distance, distance_count> all_distances{Distance::cache, Distance::numa, Distance::socket,
                                                                    Distance::machine};

constexpr std::size_t index_of(Distance distance) {
  return static_cast<std::size_t>(distance);
}

/// "cache", "numa", "socket" or "machine".
std::string_view name_of(Distance distance);

/// By what the two are sure to share: who may run in several domains of a level shares none of them.
Distance distance_between(const RankPlace& a, const RankPlace& b);

/// Parts of a whole, one for each distance: they sum to 1.
using DistanceShares = std::array<double, distance_count>;

/// How a hierarchy branches, as whoever leads all of it sees that; 0 where it is not known.
struct Branching {
  double children = 0;    ///< ranks that it hands on to itself, over all levels
  double largest = 0;     ///< ranks that are reached through one of these, at most
  double on_the_way = 0;  ///< ranks below each leader on the longest way down, summed up: what these handle for others
  double group = 0;       ///< members of the widest group
};

/// A hierarchy, as costs see it.
struct Joined {
  int levels = 0;                         ///< its depth; 0: it is not known
  DistanceShares hops{1, 0, 0, 0};        ///< of the levels, each by who is farthest from the leader
  DistanceShares boundaries{1, 0, 0, 0};  ///< the same of those that are not artificial
  Branching branching{};
};

/// How far apart the ranks of a communicator are, and how they are joined.
struct Distances {
  DistanceShares pairs{1, 0, 0, 0};       ///< of the pairs of ranks that do not share a core
  DistanceShares levels{1, 0, 0, 0};      ///< of the levels of the hierarchy, each by who is farthest from the leader
  DistanceShares boundaries{1, 0, 0, 0};  ///< the same of those that are not artificial
  Branching branching{};
  /// The same where operators do not commute: of the hierarchy in rank order.
  Joined in_rank_order{};
  /// Of the pairs of consecutive ranks: whose bytes go where one hands on to the next.
  DistanceShares consecutive{1, 0, 0, 0};
  /// Whether ranks that follow one another are farther apart than they need be, so that who is near by rank is not so on
  /// the machine.
  bool scattered = false;

  /// Of any two ranks.
  Distance widest() const;
};

/// The placement must be the one that the hierarchies were built from; `in_rank_order` by build_in_rank_order(). Costs a
/// look at each pair of caches that ranks have.
Distances distances(const Placement& placement, const Hierarchy& hierarchy, const Hierarchy& in_rank_order);
/// Of the hierarchies that these levels make, with root 0.
Distances distances(const Placement& placement, const Levels& levels);

}  // namespace tutti::topology
