// The names that the launcher keeps for MPI_Publish_name.
#pragma once

#include "mpi/start/job_call.h"

namespace tutti::mpi {

class LauncherNames : public Names {
 public:
  bool publish(const std::string& name, const std::string& value) override;
  std::optional<std::string> look_up(const std::string& name) override;
  void withdraw(const std::string& name) override;
};

}  // namespace tutti::mpi
