// What one rank has to know of a hierarchy, and how far its edges reach. Pure.
#pragma once

#include <vector>

#include "topology/hierarchy.h"

namespace tutti::topology {

/// One group that the rank takes part in.
struct Membership {
  int level = 0;  ///< index in Hierarchy::levels
  int group = 0;  ///< index in Level::groups
  int leader = -1;
  int position = 0;  ///< of this rank in members
  bool leads = false;
  std::vector<int> members;  ///< rising rank order, this rank and the leader among them

  /// The members that read from us here: all but ourselves if we lead, else none.
  std::vector<int> children() const;
};

/// A rank and all that are reached through it, further in.
struct Branch {
  int rank = -1;
  std::vector<int> ranks;   ///< rising, `rank` among them
  std::vector<int> places;  ///< of each of them: its index among those reached through the parent
};

/// The part of the tree that one rank sees.
struct RankPlan {
  int rank = 0;
  int root = 0;
  int parent = -1;        ///< whom we read a broadcast from; -1 for the root
  int parent_level = -1;  ///< the level of the group that we share with the parent; -1 for the root
  /// From the inside out. All but the last are led by us; the last too if we are the root.
  std::vector<Membership> memberships;
  /// By level of the hierarchy (as many as it has): the ranks that read from us there, in rising order.
  std::vector<std::vector<int>> children;
  int child_count = 0;           ///< over all levels
  Branch own;                    ///< the root's has no places
  std::vector<Branch> branches;  ///< of the children, in their order
};

/// rank must be one of the hierarchy's. Costs (1 + children) * ranks * levels.
RankPlan plan(const Hierarchy& hierarchy, int rank);

/// Edges of the tree by the farthest boundary they cross (XHC, table II): one edge is one message of a
/// broadcast.
struct MessageCounts {
  int inter_socket = 0;
  int inter_numa = 0;  ///< within one socket
  int intra_numa = 0;

  friend bool operator==(const MessageCounts&, const MessageCounts&) = default;
};

/// Ranks without a domain at a level count as neighbours of each other there, and as strangers to all others.
/// The placement must be the one that the hierarchy was built from.
MessageCounts message_counts(const Hierarchy& hierarchy, const Placement& placement);

}  // namespace tutti::topology
