#include "topology/machine_order.h"

#include <utility>

namespace tutti::topology {

MachineOrder machine_order(const Hierarchy& hierarchy) {
  const auto count = static_cast<std::size_t>(hierarchy.rank_count);
  // By rank: itself and those that are reached through it so far.
  std::vector<std::vector<int>> reached(count);
  for (std::size_t rank = 0; rank < count; ++rank) reached[rank].push_back(static_cast<int>(rank));
  for (const Level& level : hierarchy.levels)
    for (const Group& group : level.groups) {
      std::vector<int>& led = reached[static_cast<std::size_t>(group.leader)];
      for (const int member : group.members) {
        if (member == group.leader) continue;
        const std::vector<int>& theirs = reached[static_cast<std::size_t>(member)];
        led.insert(led.end(), theirs.begin(), theirs.end());
      }
    }
  MachineOrder order{std::move(reached[static_cast<std::size_t>(hierarchy.root)]), std::vector<int>(count)};
  for (int place = 0; place < order.size(); ++place) order.places[static_cast<std::size_t>(order.rank(place))] = place;
  return order;
}

MachineOrder machine_order(const Placement& placement, int root) {
  return machine_order(build(placement, all_level_kinds, root));
}

}  // namespace tutti::topology
