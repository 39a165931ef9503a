// What hwloc knows of the machine that this process runs on, looked up when a communicator is first split by it.
#pragma once

#include <string>
#include <vector>

#include "topology/resources.h"

namespace tutti::mpi::hardware {

/// From now on splits by hardware are ours: every rank of MPI_COMM_WORLD has said so. topology: the setting. node_rank:
/// of this process among those of its node, for machines that are only described.
void begin(const std::string& topology, int node_rank);
void end();
/// Whether begin() was called, and end() was not.
bool is_ours();

/// Null if hwloc fails, which is said once.
const topology::Resources* resources();
/// By type of resources(), where the calling thread may run now.
std::vector<int> objects_of_this_thread();
/// From the nearest network card; -1: not known.
int network_distance();

}  // namespace tutti::mpi::hardware
