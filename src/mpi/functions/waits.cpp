// The functions that complete requests. The handles of ours are requests of the host, which completes them like any other:
// what these functions do besides is to make our calls go on, and to answer for persistent ones that the host has not
// started. Programs without pay for one test.

#include <sched.h>

#include <algorithm>
#include <cstddef>

#include "mpi/functions/interpose.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/kept_handles.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/raised_error.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

/// The code of a function that has completed one request, where the host has found `code`: that of a call of ours if that
/// has failed.
int raised_or(int code) {
  if (!raised_errors) [[likely]]
    return code;
  const RaisedErrors raised;
  host.Comm_call_errhandler(raised.last().communicator, raised.last().code);
  return raised.last().code;
}

/// What the host cannot say of it: it knows the handle for a message of nothing.
void fill_status(const Request& ours, MPI_Status* status) {
  if (status && ours.partitioned() && ours.is_active()) ours.partitioned()->tell(*status);
}
MPI_Status* unless_ignored(MPI_Status* status) {
  return status == MPI_STATUS_IGNORE ? nullptr : status;
}

/// Of a request that was completed; null if there is none. Persistent ones stay where they were.
void tell(const MPI_Request* completed, MPI_Status* status) {
  Request* const ours = completed ? requests.find_persistent(*completed) : nullptr;
  if (!ours) return;
  fill_status(*ours, status);
  requests.tell(*ours);
}
/// The same of one that was only looked at.
void tell_status(const MPI_Request* complete, MPI_Status* status) {
  const Request* const ours = complete ? requests.find_persistent(*complete) : nullptr;
  if (ours) fill_status(*ours, status);
}
void tell_statuses(const MPI_Request* all, int done, const int* indices, MPI_Status* statuses) {
  if (!all || statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < done; ++i) tell_status(&all[indices ? indices[i] : i], &statuses[i]);
}

/// Whether one of them is a persistent call that is under way, of which the host does not know.
bool is_open(const MPI_Request* all, int count) {
  for (int i = 0; all && requests.any_persistent() && i < count; ++i)
    if (const Request* const ours = requests.find_persistent(all[i]);
        ours && ours->is_active() && !ours->is_shown() && !ours->is_complete())
      return true;
  return false;
}
/// The host is asked which of them are complete, so that it has to know of all of them.
void show(const MPI_Request* all, int count) {
  for (int i = 0; all && requests.any_persistent() && i < count; ++i)
    if (Request* const ours = requests.find_persistent(all[i])) requests.show(*ours);
}
/// What it would have done in a function that does not ask it.
void give_host_a_turn() {
  int complete = 0;
  host.Request_get_status(job()->host_turn, &complete, MPI_STATUS_IGNORE);
}

/// What raised_or() does, for several requests: what became of each stands in the statuses.
class Many {
 public:
  Many(int count, const MPI_Request* all)
      : many_(count > few ? new MPI_Request[static_cast<std::size_t>(count)] : few_) {
    if (all && count > 0) std::copy_n(all, count, many_);
  }
  ~Many() {
    if (many_ != few_) delete[] many_;
  }
  Many(const Many&) = delete;
  Many& operator=(const Many&) = delete;

  /// done: how many the host has completed. indices: which ones, null if all.
  int raised_or(int code, int done, const int* indices, MPI_Status* statuses) const {
    for (int i = 0; requests.any_persistent() && i < done; ++i)
      tell(&many_[indices ? indices[i] : i], statuses == MPI_STATUSES_IGNORE ? nullptr : &statuses[i]);
    if (!raised_errors) [[likely]]
      return code;
    const RaisedErrors raised;
    for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < done; ++i) {
      const int error = raised.of(many_[indices ? indices[i] : i]);
      if (error != MPI_SUCCESS || code == MPI_SUCCESS) statuses[i].MPI_ERROR = error;
    }
    host.Comm_call_errhandler(raised.last().communicator, raised.last().code);
    return MPI_ERR_IN_STATUS;
  }

 private:
  static constexpr int few = 32;
  MPI_Request few_[few];
  MPI_Request* many_;
};

/// Asks the host again and again, which may depend on us meanwhile where it does not drive us. ask: sets the flag that it is
/// given.
template <class Ask>
int ask_until_true(const Ask& ask) {
  constexpr unsigned asked_between_turns = 64;
  int flag = 0;
  for (unsigned asked = 1;; ++asked) {
    requests.drive();
    const int code = ask(&flag);
    if (flag || code != MPI_SUCCESS) return code;
    if (asked % asked_between_turns == 0) sched_yield();
  }
}

/// Whether the host may be left to wait: it drives us, or there is nothing to drive. Persistent calls are not completed out
/// of its progress.
bool may_leave_to_host() {
  return (host_can_be_hooked() && !requests.any_persistent()) || !requests.under_way();
}

int wait(MPI_Request* request, MPI_Status* status) {
  if (request)
    if (const Request* const ours = requests.find(*request)) requests.wait_for(*ours);
  if (may_leave_to_host() || !request) return next.Wait(request, status);
  return ask_until_true([&](int* flag) { return next.Test(request, flag, status); });
}

int wait_for_all(int count, MPI_Request* all, MPI_Status* statuses) {
  for (int i = 0; all && i < count; ++i)
    if (const Request* const ours = requests.find(all[i])) requests.wait_for(*ours);
  if (may_leave_to_host() || !all) return next.Waitall(count, all, statuses);
  return ask_until_true([&](int* flag) { return next.Testall(count, all, flag, statuses); });
}

int wait_for_any(int count, MPI_Request* all, int* index, MPI_Status* status) {
  if (may_leave_to_host()) return next.Waitany(count, all, index, status);
  return ask_until_true([&](int* flag) { return next.Testany(count, all, index, flag, status); });
}

int wait_for_some(int count, MPI_Request* all, int* done, int* indices, MPI_Status* statuses) {
  if (may_leave_to_host() || !done) return next.Waitsome(count, all, done, indices, statuses);
  return ask_until_true([&](int* flag) {
    const int code = next.Testsome(count, all, done, indices, statuses);
    *flag = *done != 0;
    return code;
  });
}

/// One that only tells: errors are raised where the request is completed.
int without_raising(int code) {
  if (raised_errors) [[unlikely]] {
    const RaisedErrors forgotten;
  }
  return code;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!requests.any()) [[likely]]
    return next.Wait(request, status);
  const int code = wait(request, status);
  tell(request, unless_ignored(status));
  return raised_or(code);
}

TUTTI_EXPORT int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (!requests.any()) [[likely]]
    return next.Waitall(count, array_of_requests, array_of_statuses);
  const Many many(count, array_of_requests);
  return many.raised_or(wait_for_all(count, array_of_requests, array_of_statuses), count, nullptr, array_of_statuses);
}

TUTTI_EXPORT int MPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  if (!requests.any()) [[likely]]
    return next.Waitany(count, array_of_requests, indx, status);
  requests.drive();
  show(array_of_requests, count);
  const int code = wait_for_any(count, array_of_requests, indx, status);
  tell(indx && *indx >= 0 ? array_of_requests + *indx : nullptr, unless_ignored(status));
  return raised_or(code);
}

TUTTI_EXPORT int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (!requests.any()) [[likely]]
    return next.Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  const Many many(incount, array_of_requests);
  requests.drive();
  show(array_of_requests, incount);
  const int code = wait_for_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  return many.raised_or(code, outcount ? *outcount : 0, array_of_indices, array_of_statuses);
}

TUTTI_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!requests.any()) [[likely]]
    return next.Test(request, flag, status);
  requests.drive();
  if (flag && is_open(request, 1)) {
    give_host_a_turn();
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int code = next.Test(request, flag, status);
  tell(flag && *flag ? request : nullptr, unless_ignored(status));
  return raised_or(code);
}

TUTTI_EXPORT int MPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  if (!requests.any()) [[likely]]
    return next.Testall(count, array_of_requests, flag, array_of_statuses);
  const Many many(count, array_of_requests);
  requests.drive();
  if (flag && is_open(array_of_requests, count)) {
    give_host_a_turn();
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int code = next.Testall(count, array_of_requests, flag, array_of_statuses);
  return many.raised_or(code, flag && *flag ? count : 0, nullptr, array_of_statuses);
}

TUTTI_EXPORT int MPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  if (!requests.any()) [[likely]]
    return next.Testany(count, array_of_requests, indx, flag, status);
  requests.drive();
  show(array_of_requests, count);
  const int code = next.Testany(count, array_of_requests, indx, flag, status);
  tell(flag && *flag && *indx >= 0 ? array_of_requests + *indx : nullptr, unless_ignored(status));
  return raised_or(code);
}

TUTTI_EXPORT int MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (!requests.any()) [[likely]]
    return next.Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  const Many many(incount, array_of_requests);
  requests.drive();
  show(array_of_requests, incount);
  const int code = next.Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  return many.raised_or(code, outcount ? *outcount : 0, array_of_indices, array_of_statuses);
}

TUTTI_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  requests.drive();
  show(&request, 1);
  const int code = next.Request_get_status(request, flag, status);
  tell_status(flag && *flag ? &request : nullptr, unless_ignored(status));
  return without_raising(code);
}

TUTTI_EXPORT int MPI_Request_get_status_all(int count, TUTTI_CONST_REQUEST array_of_requests[], int* flag,
                                            MPI_Status array_of_statuses[]) {
  requests.drive();
  show(array_of_requests, count);
  const int code = next.Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
  tell_statuses(array_of_requests, flag && *flag ? count : 0, nullptr, array_of_statuses);
  return without_raising(code);
}

TUTTI_EXPORT int MPI_Request_get_status_any(int count, TUTTI_CONST_REQUEST array_of_requests[], int* indx, int* flag,
                                            MPI_Status* status) {
  requests.drive();
  show(array_of_requests, count);
  const int code = next.Request_get_status_any(count, array_of_requests, indx, flag, status);
  tell_status(flag && *flag && *indx >= 0 ? array_of_requests + *indx : nullptr, unless_ignored(status));
  return without_raising(code);
}

TUTTI_EXPORT int MPI_Request_get_status_some(int incount, TUTTI_CONST_REQUEST array_of_requests[], int* outcount,
                                             int array_of_indices[], MPI_Status array_of_statuses[]) {
  requests.drive();
  show(array_of_requests, incount);
  const int code =
      next.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  tell_statuses(array_of_requests, outcount ? *outcount : 0, array_of_indices, array_of_statuses);
  return without_raising(code);
}

TUTTI_EXPORT int MPI_Request_free(MPI_Request* request) {
  if (requests.any() && request) {
    requests.drive();
    // Hosts differ in what becomes of a generalized request that is freed before its end.
    Request* const ours = requests.find(*request);
    if (ours && requests.abandon(*ours)) {
      *request = MPI_REQUEST_NULL;
      return MPI_SUCCESS;
    }
    if (ours && ours->is_persistent()) requests.forget(*ours);
  }
  return next.Request_free(request);
}

TUTTI_EXPORT int MPI_Type_free(MPI_Datatype* datatype) {
  if (datatype && free_later(key_of(*datatype))) {
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
  }
  return next.Type_free(datatype);
}

TUTTI_EXPORT int MPI_Op_free(MPI_Op* op) {
  if (op && free_later(key_of(*op))) {
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
  }
  return next.Op_free(op);
}
