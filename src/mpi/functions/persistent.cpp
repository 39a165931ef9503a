// The functions that start persistent requests, and MPI_Cancel.

#include <vector>

#include "base/ticks.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

int start_again(Request& request) {
  if (request.is_active() || !request.is_persistent()) {
    host.Comm_call_errhandler(request.communicator_for_errors(), MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
  }
  const std::uint64_t begin = explain::counting ? ticks() : 0;
  requests.start_again(request);
  request.report(begin ? ticks() - begin : 0);
  return MPI_SUCCESS;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Start(MPI_Request* request) {
  Request* const ours = requests.any() && request ? requests.find(*request) : nullptr;
  return ours ? start_again(*ours) : next.Start(request);
}

TUTTI_EXPORT int MPI_Startall(int count, MPI_Request array_of_requests[]) {
  if (!requests.any() || !array_of_requests) return next.Startall(count, array_of_requests);
  // Those of the host keep their handles.
  std::vector<MPI_Request> others;
  for (int i = 0; i < count; ++i)
    if (!requests.find(array_of_requests[i])) others.push_back(array_of_requests[i]);
  int code = others.empty() ? MPI_SUCCESS : next.Startall(static_cast<int>(others.size()), others.data());
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i)
    if (Request* const ours = requests.find(array_of_requests[i])) code = start_again(*ours);
  return code;
}

/// Collectives cannot be cancelled; what stands for one could.
TUTTI_EXPORT int MPI_Cancel(MPI_Request* request) {
  const Request* const ours = requests.any() && request ? requests.find(*request) : nullptr;
  if (!ours) return next.Cancel(request);
  host.Comm_call_errhandler(ours->communicator_for_errors(), MPI_ERR_REQUEST);
  return MPI_ERR_REQUEST;
}
