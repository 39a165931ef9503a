// The functions that start persistent requests, and MPI_Cancel.

#include <vector>

#include "base/ticks.h"
#include "mpi/errors.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

bool may_be_started(const Request& request) {
  return request.is_persistent() && !request.is_active();
}

int start_again(Request& request, const char* function) {
  bool failed = false;
  const int code = code_of(function, failed, [&request] {
    const std::uint64_t begin = explain::counting ? ticks() : 0;
    requests.start_again(request);
    request.report(begin ? ticks() - begin : 0);
    return MPI_SUCCESS;
  });
  return failed ? raise(request.communicator_for_errors(), code, function) : code;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Start(MPI_Request* request) {
  Request* const ours = requests.any() && request ? requests.find(*request) : nullptr;
  if (!ours) return next.Start(request);
  if (may_be_started(*ours)) return start_again(*ours, next.Start.name());
  MPI_Request none = MPI_REQUEST_NULL;  // which the host refuses to start, too
  return next.Start(&none);
}

TUTTI_EXPORT int MPI_Startall(int count, MPI_Request array_of_requests[]) {
  if (!requests.any() || !array_of_requests || count < 0) return next.Startall(count, array_of_requests);
  // Those of the host keep their handles. What it refuses to start stands in the place of what cannot be.
  std::vector<MPI_Request> others;
  const int code = guard(MPI_COMM_WORLD, next.Startall.name(), [&] {
    for (int i = 0; i < count; ++i) {
      const Request* const ours = requests.find(array_of_requests[i]);
      if (!ours || !may_be_started(*ours)) others.push_back(ours ? MPI_REQUEST_NULL : array_of_requests[i]);
    }
    return MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS) return code;
  if (!others.empty())
    if (const int by_host = next.Startall(static_cast<int>(others.size()), others.data()); by_host != MPI_SUCCESS)
      return by_host;
  for (int i = 0; i < count; ++i)
    if (Request* const ours = requests.find(array_of_requests[i]))
      if (const int started = start_again(*ours, next.Startall.name()); started != MPI_SUCCESS) return started;
  return MPI_SUCCESS;
}

/// Collectives cannot be cancelled; what stands for one could.
TUTTI_EXPORT int MPI_Cancel(MPI_Request* request) {
  const Request* const ours = requests.any() && request ? requests.find(*request) : nullptr;
  if (!ours) return next.Cancel(request);
  if (ours->message() && !ours->message()->as_partitioned()) {
    ours->message()->cancel();
    return MPI_SUCCESS;
  }
  MPI_Request none = MPI_REQUEST_NULL;  // which the host refuses to cancel, too
  return next.Cancel(&none);
}
