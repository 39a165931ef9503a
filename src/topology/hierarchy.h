// Groups of ranks and their leaders, level upon level (XHC, section III.A). Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "topology/level.h"
#include "topology/placement.h"

namespace tutti::topology {

struct Group {
  int leader = -1;
  std::vector<int> members;  ///< rising rank order, the leader among them; at least two

  friend bool operator==(const Group&, const Group&) = default;
};

struct Level {
  /// What the members share; nothing for the top level, which joins all that is left, and where groups are artificial.
  std::optional<LevelKind> kind;
  std::vector<Group> groups;  ///< in rising order of their lowest member
  std::vector<int> group_of;  ///< by rank: the index in `groups`, -1 if the rank takes no part in this level
  bool artificial = false;    ///< its groups are parts of wider ones, and no boundary of the machine is between them
};

/// The tree along which a collective moves data. Level 0 is the innermost; the members of a group of level k
/// > 0 are ranks that lead everything below them. The root leads every group it is in. Each rank but the root
/// is a mere member in exactly one group, which is the one where its parent leads.
struct Hierarchy {
  int rank_count = 0;
  int root = 0;
  std::vector<Level> levels;  ///< empty for a single rank; one level with one group if nothing splits the ranks
};

/// A hierarchy has no more of them: groups stay as wide as they are where cutting them would make more.
inline constexpr std::size_t most_levels = 14;

/// What groups the ranks.
struct Levels {
  std::vector<LevelKind> kinds;
  int widest = 0;  ///< groups of more members are cut; 0: none is
};

/// Members of the widest group that is not cut: as many ranks as send small messages without groups (TUTTI_FLAT_MAX).
/// A member looks at all others of its group, one after the other; with more of them that takes longer than one level
/// more. So the model says of small messages, and a test holds this number against it.
inline constexpr int usual_widest = 16;

/// The levels that `spec` stands for on these ranks. A given list stays as it is. "auto" becomes those of l3,
/// numa and socket that split the ranks, each differently from the others; levels that leave every rank alone
/// or all together are left out. With it groups are cut that are wider than usual, but not where ranks share cores:
/// there each level is a turn more for all of them.
Levels choose_levels(const LevelSpec& spec, const Placement& placement);

/// Groups all ranks of the placement (numbers 0 .. size-1, as in the communicator) by the given levels, and
/// joins the leaders in a top level. The order of `kinds` does not matter: the level with most domains goes
/// innermost. Ranks with no domain at a level form one group of it, within the same domain of the levels
/// further out. Groups of one and levels without groups drop out. The leader of a group is the root if it is
/// a member, else the lowest rank. root must be a rank of the placement. O(ranks log ranks) per level.
Hierarchy build(const Placement& placement, std::span<const LevelKind> kinds, int root);

/// The same, with groups of more than `levels.widest` cut into parts of neighbours by core (by rank, where ranks are
/// bound to none), as an artificial level within theirs; into so many levels as that takes, with groups about as wide
/// in each. Who are together does not depend on the root.
Hierarchy build(const Placement& placement, const Levels& levels, int root);

/// The same, but of a level's domain only those are a group who follow one another by rank: groups of consecutive ranks,
/// of which each group further out joins several that follow one another. So what the members of a group have, combined
/// in the order of its members, is combined in the order of ranks. Where ranks are numbered along the machine, it is the
/// same hierarchy; the less they are, the more ranks meet in the top level.
Hierarchy build_in_rank_order(const Placement& placement, const Levels& levels, int root);

}  // namespace tutti::topology
