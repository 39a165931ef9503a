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

/// That of this process, over these names. self: of the first call.
JobCall& job_call(const JobCall::Self& self);
/// Inside MPI_Finalize: where not all ranks take part, names have stayed for those that were late.
void forget_job_call();

}  // namespace tutti::mpi
