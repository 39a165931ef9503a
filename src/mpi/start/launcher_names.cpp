#include "mpi/start/launcher_names.h"

#include "mpi/errors_returned.h"
#include "mpi/host.h"

namespace tutti::mpi {

namespace {

/// Hosts take errors that belong to no communicator for those of one or the other.
struct NoErrors {
  ErrorsReturned of_all{MPI_COMM_WORLD};
  ErrorsReturned of_this_process{MPI_COMM_SELF};
};

class LauncherNames : public Names {
 public:
  bool publish(const std::string& name, const std::string& value) override {
    const NoErrors none;
    return host.Publish_name(name.c_str(), MPI_INFO_NULL, value.c_str()) == MPI_SUCCESS;
  }
  std::optional<std::string> look_up(const std::string& name) override {
    const NoErrors none;
    char value[MPI_MAX_PORT_NAME] = "";
    if (host.Lookup_name(name.c_str(), MPI_INFO_NULL, value) != MPI_SUCCESS) return std::nullopt;
    return value;
  }
  void withdraw(const std::string& name) override {
    const NoErrors none;
    host.Unpublish_name(name.c_str(), MPI_INFO_NULL, "");
  }
};

constexpr double patience_seconds = 5;

/// Never destroyed: it is asked inside MPI_Finalize, which a destructor may call.
JobCall* the_call = nullptr;

}  // namespace

JobCall& job_call(const JobCall::Self& self) {
  static LauncherNames& names = *new LauncherNames;
  if (!the_call) the_call = new JobCall(self, names, patience_seconds);
  return *the_call;
}

void forget_job_call() {
  if (the_call) the_call->forget();
}

}  // namespace tutti::mpi
