#include "collectives/common/trees/tree_place.h"

namespace tutti {

TreePlace flat_place(Operation& operation, int root) {
  Communicator& communicator = operation.communicator();
  TreePlace place;
  place.chunk_bytes = communicator.chunk_bytes(0);
  if (communicator.rank() != root) {
    place.parent = root;
    return place;
  }
  int* children = operation.array<int>(static_cast<std::size_t>(communicator.size() - 1));
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (rank != root) children[place.child_count++] = rank;
  place.children = children;
  return place;
}

TreePlace place_in(Operation& operation, const topology::RankPlan& plan) {
  TreePlace place;
  place.parent = plan.parent;
  place.chunk_bytes = operation.communicator().chunk_bytes(plan.parent < 0 ? 0 : plan.parent_level);
  int* children = operation.array<int>(static_cast<std::size_t>(plan.child_count));
  for (const auto& level : plan.children)
    for (const int child : level) children[place.child_count++] = child;
  place.children = children;
  return place;
}

}  // namespace tutti
