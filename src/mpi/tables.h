// Decision tables: found, read, and agreed upon by all ranks of the job.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "selection/known.h"
#include "selection/table.h"
#include "topology/machine.h"

namespace tutti::mpi {

/// The host MPI in this process: "MPICH" and "5.0.2"; both taken from MPI_Get_library_version.
struct HostName {
  std::string name;
  std::string version;
};
HostName host_name();

/// Where the job runs, as tables say it. Without a machine (hwloc failed) that part is unknown, and fits any.
selection::TableOrigin table_origin(const std::optional<topology::Machine>& machine);

/// The table that all ranks choose by; null if there is none, it is off, or none fits on all nodes, for which rank 0 says
/// once why. setting: TUTTI_TABLE, a file, "off", or empty: the first that fits of the user's and the site's folders.
/// Collective over MPI_COMM_WORLD; rank 0 reads, the others get its bytes.
std::shared_ptr<const selection::Table> agreed_table(const std::string& setting, const selection::TableOrigin& here,
                                                     std::span<const selection::Known> known, const Log& log);

}  // namespace tutti::mpi
