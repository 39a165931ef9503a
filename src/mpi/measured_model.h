// The model's parameters that `tutti probe` has measured on this machine.
#pragma once

#include <string>
#include <vector>

#include "mpi/node_setup.h"

namespace tutti::mpi {

/// The model's parameters: measured ones if the first of rank 0's files fits, else the shipped ones. All ranks take the
/// same: what one node cannot use nobody does. Collective over MPI_COMM_WORLD, after publish_machine() and the
/// agreement.
void take_measured_model(Job& job, const std::vector<std::string>& files);

}  // namespace tutti::mpi
