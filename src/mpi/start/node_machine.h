// The node's hardware: asked by one of its ranks, read by all, and where the ranks sit on it.
#pragma once

#include <optional>

#include "engine/node.h"
#include "mpi/start/arena_header.h"
#include "mpi/start/node_ranks.h"
#include "topology/machine.h"
#include "topology/placement.h"

namespace tutti::mpi {

/// Asks hwloc before the host's MPI_Init, when nobody waits for the answer yet: what publish_machine() will need.
void look_at_machine();

/// The first rank of the node asks hwloc, unless it has done so; the others read what it found, after the agreement
/// that follows.
void publish_machine(const Node& node, ArenaHeader* header);

/// What publish_machine() found, after the agreement.
std::optional<topology::Machine> published_machine(const Node& node);

/// Where the ranks sit, and what the machine's caches hold: both go into the node.
void set_up_placement(Node& node, const NodeRanks& here);

/// Make-believe nodes have the cores of one machine, which these cards are of.
void share_cores_of_machine(Node& node, const std::vector<Card>& cards);

/// Warnings about values that only the layers above the settings can judge; after set_up_placement().
void check_hierarchy(const Node& node);

}  // namespace tutti::mpi
