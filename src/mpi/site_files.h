// Files of the user and of the site that choices are made from: read by one rank, the same bytes for all.
#pragma once

#include <string>
#include <vector>

#include "base/site_files.h"

namespace tutti::mpi {

/// Rank 0 of MPI_COMM_WORLD reads the first of `paths` that is there; equal on all ranks. Collective over
/// MPI_COMM_WORLD; the paths of the other ranks do not matter.
SiteFile read_on_first_rank(const std::vector<std::string>& paths);

}  // namespace tutti::mpi
