// Whether cores share the L3 that a virtual machine says they share. See docs/decisions/virtual-machines.md.
#pragma once

#include <vector>

#include "engine/node.h"
#include "mpi/start/node_ranks.h"

namespace tutti::mpi {

/// In virtual machines, ranks that share an L3 by the topology measure whether they do. If some do not, no rank of the
/// job has an L3 from then on. Collective over MPI_COMM_WORLD; all: the cards of its ranks. After set_up_placement().
void judge_shared_caches(Node& node, const std::vector<Card>& all);

}  // namespace tutti::mpi
