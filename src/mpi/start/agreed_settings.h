// The settings of the job: equal on all ranks.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/settings.h"

namespace tutti::mpi {

/// The TUTTI_ variables of this process, each with a null byte after it; as many as travel. log: takes the warning
/// about those that do not.
std::string own_variables(const Log& log);

/// Rank 0's, so that every choice is made from the same words. Collective over MPI_COMM_WORLD. own: of this process;
/// world_rank: its rank.
std::string variables_of_first_rank(const std::string& own, int world_rank);

/// log: takes the warnings about wrong values.
Settings settings_from(const std::string& variables, const Log& log);

}  // namespace tutti::mpi
