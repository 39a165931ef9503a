#include "mpi/start/launcher_names.h"

#include "mpi/host.h"
#include "mpi/start/errors_returned.h"

namespace tutti::mpi {

namespace {

/// That a name is not there is an error. Hosts take errors that belong to no communicator for those of one or the other.
struct NoErrors {
  ErrorsReturned of_all{MPI_COMM_WORLD};
  ErrorsReturned of_this_process{MPI_COMM_SELF};
};

}  // namespace

bool LauncherNames::publish(const std::string& name, const std::string& value) {
  const NoErrors none;
  return host.Publish_name(name.c_str(), MPI_INFO_NULL, value.c_str()) == MPI_SUCCESS;
}

std::optional<std::string> LauncherNames::look_up(const std::string& name) {
  const NoErrors none;
  char value[MPI_MAX_PORT_NAME] = "";
  if (host.Lookup_name(name.c_str(), MPI_INFO_NULL, value) != MPI_SUCCESS) return std::nullopt;
  return value;
}

void LauncherNames::withdraw(const std::string& name) {
  const NoErrors none;
  host.Unpublish_name(name.c_str(), MPI_INFO_NULL, "");
}

}  // namespace tutti::mpi
