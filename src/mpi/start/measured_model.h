// The model's parameters that `tutti probe` has measured on this machine.
#pragma once

#include <string>
#include <vector>

#include "mpi/start/node_setup.h"

namespace tutti::mpi {

/// The model's parameters: measured ones of the first of rank 0's `paths` that fits on all nodes, else the shipped ones.
/// Collective over MPI_COMM_WORLD, after publish_machine() and the agreement. count: of rank 0's paths; those of the
/// others do not matter.
void take_measured_model(Job& job, const std::vector<std::string>& paths, int count);

}  // namespace tutti::mpi
