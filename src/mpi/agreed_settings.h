// The settings of the job: equal on all ranks.
#pragma once

#include "base/log.h"
#include "base/settings.h"

namespace tutti::mpi {

/// Rank 0's TUTTI_ variables reach all ranks, so that every choice is made from the same words. Collective over
/// MPI_COMM_WORLD. world_rank: of the caller there; log: takes the warnings about wrong values.
Settings agreed_settings(int world_rank, Log& log);

}  // namespace tutti::mpi
