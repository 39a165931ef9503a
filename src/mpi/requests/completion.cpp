#include "mpi/requests/completion.h"

#include "mpi/requests/partitioned_calls.h"

namespace tutti::mpi {

namespace {

/// Of no elements, and not cancelled (MPI 4.1, section 3.7.3): what the host says of no request.
struct EmptyStatus {
  MPI_Status status{};
  Error error = Error::stays;

  EmptyStatus() {
    constexpr int unlike_any = 0x5a5a5a5a;
    status.MPI_ERROR = unlike_any;
    MPI_Request none = MPI_REQUEST_NULL;
    host.Wait(&none, &status);
    if (status.MPI_ERROR != unlike_any) error = Error::is_set;
  }
};
const EmptyStatus& empty_status() {
  static const EmptyStatus empty;
  return empty;
}

void set_status(MPI_Status* status, Error error) {
  if (status == MPI_STATUS_IGNORE) return;
  const int before = error == Error::is_set ? static_cast<int>(MPI_SUCCESS) : status->MPI_ERROR;
  *status = empty_status().status;
  status->MPI_ERROR = before;
}

}  // namespace

void set_empty(MPI_Status* status, Error error) {
  set_status(status, empty_status().error == Error::is_set ? Error::is_set : error);
}

void set_status(const Request& ours, MPI_Status* status, Error error) {
  if (!ours.is_active()) return set_empty(status, error);
  set_status(status, error);
  if (ours.partitioned() && status != MPI_STATUS_IGNORE) ours.partitioned()->tell(*status);
}

Outcome conclude(Request& ours, MPI_Request* request, MPI_Status* status, Error error) {
  set_status(ours, status, error);
  Outcome outcome;
  if (ours.is_active() && (ours.code() != MPI_SUCCESS || ours.thrown())) [[unlikely]]
    outcome = {ours.code(), ours.communicator_for_errors(), ours.thrown()};
  if (!ours.is_persistent()) *request = MPI_REQUEST_NULL;
  requests.conclude(ours);
  return outcome;
}

}  // namespace tutti::mpi
