// The functions that start persistent requests, and MPI_Cancel. A persistent collective of ours is a persistent receive of the
// host: that is started first, so that it is complete when the call is.

#include "base/ticks.h"
#include "mpi/functions/interpose.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

/// After the host has started its handle.
void start_again(Request& request) {
  const std::uint64_t begin = explain::counting ? ticks() : 0;
  requests.start_again(request);
  request.report(begin ? ticks() - begin : 0);
}

/// Null if it is no persistent collective of ours.
Request* persistent(MPI_Request handle) {
  Request* const found = requests.find(handle);
  return found && found->is_persistent() ? found : nullptr;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Start(MPI_Request* request) {
  const int code = next.Start(request);
  if (code != MPI_SUCCESS || !requests.any()) return code;
  if (Request* const ours = persistent(*request)) start_again(*ours);
  return code;
}

TUTTI_EXPORT int MPI_Startall(int count, MPI_Request array_of_requests[]) {
  const int code = next.Startall(count, array_of_requests);
  if (code != MPI_SUCCESS || !requests.any()) return code;
  for (int i = 0; i < count; ++i)
    if (Request* const ours = persistent(array_of_requests[i])) start_again(*ours);
  return code;
}

/// Collectives cannot be cancelled; the receive that stands for one could.
TUTTI_EXPORT int MPI_Cancel(MPI_Request* request) {
  const Request* const ours = requests.any() && request ? persistent(*request) : nullptr;
  if (!ours) return next.Cancel(request);
  host.Comm_call_errhandler(ours->communicator_for_errors(), MPI_ERR_REQUEST);
  return MPI_ERR_REQUEST;
}
