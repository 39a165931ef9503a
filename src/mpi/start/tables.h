// Decision tables: found, read, and agreed upon by all ranks of the job.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "mpi/start/sources.h"
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

struct AgreedTable {
  std::shared_ptr<const selection::Table> table;  ///< null: none
  Source source;
};

/// The table that all ranks choose by: the first of rank 0's `paths` that fits on all nodes; null if there is none, for
/// which rank 0 says once why. Collective over MPI_COMM_WORLD; rank 0 reads, the others get its bytes, and need to know
/// only how many paths it has: `count`. named: TUTTI_TABLE.
AgreedTable agreed_table(const std::vector<std::string>& paths, int count, const std::string& named,
                         const selection::TableOrigin& here, std::span<const selection::Known> known, const Log& log);

}  // namespace tutti::mpi
