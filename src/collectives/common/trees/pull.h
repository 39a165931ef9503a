// A broadcast down a tree, one copy a rank: what direct read, k-nomial read and XHC share. They differ in the tree.
#pragma once

#include "collectives/arguments.h"
#include "collectives/common/trees/tree_place.h"

namespace tutti {

/// Size of a chunk where TUTTI_CHUNK says nothing else: for costs.
inline constexpr double usual_chunk_bytes = 128 * 1024;

/// Grains that a rank with children has, where its post does not say so.
inline constexpr FlagName grains_there{Line::ready, 0};
inline constexpr FlagSet pull_flags = FlagSet::of(grains_there, done_flag);

/// Phase 1: a rank with children exposes its buffer. Phase 2: it copies chunk by chunk from its parent's buffer as the
/// parent's flag advances, and advances its own. Phase 3: it waits until its children have read.
/// through_slot: messages that fit go through the operation's data area, so that nobody waits in phase 3.
Task pull(Operation& operation, const BcastArguments& arguments, TreePlace place, bool through_slot);

}  // namespace tutti
