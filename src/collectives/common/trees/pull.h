// A broadcast down a tree, one copy a rank: what direct read, k-nomial read and XHC share. They differ in the tree.
#pragma once

#include "collectives/algorithm.h"

namespace tutti {

/// Where one rank stands in a tree. It comes from the topology, from rank arithmetic, or is flat; what moves along it does
/// not ask.
struct TreePlace {
  int parent = -1;       ///< -1: this is the root
  int predecessor = -1;  ///< who must have read from the parent before this rank begins; -1: nobody
  const int* children = nullptr;
  int child_count = 0;
  std::size_t chunk_bytes = 0;  ///< of the pipeline, from the parent to this rank
};

/// All others read from `root`.
TreePlace flat_place(Operation& operation, int root);
/// As the topology has it: of all its levels, or with a leader a socket.
TreePlace place_in(Operation& operation, const topology::RankPlan& plan);
inline TreePlace socket_place(Operation& operation, int root) {
  return place_in(operation, operation.communicator().plan(root, Grouping::by_socket));
}

/// Grains that a rank with children has, where its post does not say so.
inline constexpr FlagName grains_there{Line::ready, 0};
inline constexpr FlagSet pull_flags = FlagSet::of(grains_there, done_flag);

/// Phase 1: a rank with children exposes its buffer. Phase 2: it copies chunk by chunk from its parent's buffer as the
/// parent's flag advances, and advances its own. Phase 3: it waits until its children have read.
/// through_slot: messages that fit go through the operation's data area, so that nobody waits in phase 3.
Task pull_down(Operation& operation, const BcastArguments& arguments, TreePlace place, bool through_slot);

}  // namespace tutti
