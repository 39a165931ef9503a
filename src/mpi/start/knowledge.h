// What the choice of algorithms is made by: the user's words, and files of the user and of the site (measured parameters of the
// model, decision tables). Files are read by one rank, the same bytes for all; the first that can be used counts.
#pragma once

#include <string>
#include <vector>

#include "mpi/start/contribution.h"
#include "mpi/start/node_setup.h"

namespace tutti::mpi {

/// The host MPI in this process: "MPICH" and "5.0.2"; both taken from MPI_Get_library_version.
struct HostName {
  std::string name;
  std::string version;
};
HostName host_name();

/// Fills job.knowledge, and says in the job where it is from. Collective over MPI_COMM_WORLD, after publish_machine() and the
/// agreement. all: the cards of its ranks.
void gather_knowledge(Job& job, const std::vector<Card>& all, const Contribution& contribution);

}  // namespace tutti::mpi
