// The functions that complete requests. Those of ours they complete themselves: the host is asked about the others, and about
// all of them where it has to say which of several are complete. Programs without any of ours pay for one test.

#include "mpi/functions/waits.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>

#include "mpi/functions/interpose.h"
#include "mpi/requests/completion.h"
#include "mpi/requests/inside_host.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

/// Asks the host again and again: it may depend on us meanwhile. ask: sets the flag that it is given.
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

// The waits of the host's requests, while ours go on. A call out of a tool ends there, too: it sees one wait, however often
// the host is asked.

int wait_for_one(MPI_Request* request, MPI_Status* status) {
  if (!requests.under_way()) return host.Wait(request, status);
  return ask_until_true([&](int* flag) { return host.Test(request, flag, status); });
}

int wait_for_all(int count, MPI_Request all[], MPI_Status statuses[]) {
  if (!requests.under_way()) return host.Waitall(count, all, statuses);
  const int code = ask_until_true([&](int* flag) { return host.Testall(count, all, flag, statuses); });
  // Which not every host writes there.
  for (int i = 0; code == MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE && i < count; ++i)
    statuses[i].MPI_ERROR = MPI_SUCCESS;
  return code;
}

int wait_for_any(int count, MPI_Request all[], int* index, MPI_Status* status) {
  if (!requests.under_way()) return host.Waitany(count, all, index, status);
  return ask_until_true([&](int* flag) { return host.Testany(count, all, index, flag, status); });
}

int wait_for_some(int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[]) {
  if (!requests.under_way()) return host.Waitsome(count, all, done, indices, statuses);
  return ask_until_true([&](int* flag) {
    const int code = host.Testsome(count, all, done, indices, statuses);
    *flag = *done != 0;
    return code;
  });
}

/// All of ours are complete. ask(requests): what the host does to complete all others; returns its code, and may set *flag to 0.
template <class Ask>
Outcomes complete_all(const Several& several, MPI_Request* all, int* flag, MPI_Status* statuses, Error error,
                      const Ask& ask) {
  *flag = 1;
  const int code = several.has_others() ? several.ask_about_others(all, ask) : static_cast<int>(MPI_SUCCESS);
  Outcomes outcomes(code, statuses);
  for (int i = 0; *flag && i < several.count(); ++i) {
    if (several[i])
      outcomes.add(i, several.conclude_at(i, all, status_at(statuses, i), error), several.count());
    else if (!several.has_others())
      set_empty(status_at(statuses, i), error);
  }
  return outcomes;
}

/// The first of ours that the program may be told of; -1 if there is none.
int find_complete(const Several& several) {
  return several.find([](const Request& each) { return each.is_active() && each.is_complete(); });
}
bool any_active(const Several& several) {
  return several.find([](const Request& each) { return each.is_active(); }) >= 0;
}

/// All are ours. Whether one could be completed, or none is active.
bool complete_any(const Several& several, MPI_Request* all, int* index, MPI_Status* status, Outcome& outcome) {
  *index = find_complete(several);
  if (*index < 0 && any_active(several)) return false;
  if (*index < 0) {
    set_empty(status, Error::stays);
    *index = MPI_UNDEFINED;
  } else {
    outcome = conclude(*several[*index], &all[*index], status);
  }
  return true;
}

/// The same of all that can be completed.
bool complete_some(const Several& several, MPI_Request* all, int* done, int* indices, Outcomes& outcomes) {
  *done = MPI_UNDEFINED;
  if (!any_active(several)) return true;
  *done = 0;
  for (int i = 0; i < several.count(); ++i)
    if (several[i] && several[i]->is_active() && several[i]->is_complete()) indices[(*done)++] = i;
  for (int i = 0; i < *done; ++i)
    outcomes.add(i, several.conclude_at(indices[i], all, outcomes.status_at(i), in_others_of_several), *done);
  return *done > 0;
}

/// The one of ours that the host has found complete; null if it is none, or the program has been told: a tool may have asked
/// by another function than it was asked by.
Request* find_told(const Several& several, const MPI_Request* all, int index) {
  if (index < 0 || index >= several.count() || all[index] == MPI_REQUEST_NULL) return nullptr;
  Request* const ours = several[index] ? requests.find(all[index]) : nullptr;
  return ours && ours->is_active() ? ours : nullptr;
}

/// The host has found those complete whose `indices` it says, and has returned `code`. done: negative if it has not said so.
Outcomes concluded_by_host(const Several& several, MPI_Request* all, int done, const int* indices, MPI_Status* statuses,
                           int code) {
  Outcomes outcomes(code, statuses);
  for (int i = 0; several.has_ours() && i < done; ++i) {
    if (Request* const ours = find_told(several, all, indices[i]))
      outcomes.add(i, conclude(*ours, &all[indices[i]], status_at(statuses, i)), done);
  }
  return outcomes;
}
/// The same of one. Where the host has an error of its own, ours is not asked.
Outcome concluded_by_host(const Several& several, MPI_Request* all, int index, MPI_Status* status) {
  Request* const ours = find_told(several, all, index);
  return ours ? conclude(*ours, &all[index], status) : Outcome();
}

/// ask(&done): the host's Waitsome or Testsome. Where it fails it may say nothing of how many there are.
template <class Ask>
Outcomes some_by_host(const Several& several, MPI_Request* all, int* outcount, const int* indices, MPI_Status* statuses,
                      const Ask& ask) {
  constexpr int nothing_said = -1;
  static_assert(MPI_UNDEFINED != nothing_said);
  int done = nothing_said;
  const int code = ask(&done);
  if (done != nothing_said) *outcount = done;
  return concluded_by_host(several, all, done, indices, statuses, code);
}

/// Waits until ready(), which may complete something, is true.
template <class Ready>
void wait_until(const Ready& ready) {
  sync::wait(*job()->node.waiter, {"MPI_Wait", nullptr, 0, -1}, [&, over = false]() mutable {
    if (over) return true;
    requests.drive();
    return over = ready();
  });
}

}  // namespace

void take_over_waits() {
  next.Wait.ends_in(wait_for_one);
  next.Waitall.ends_in(wait_for_all);
  next.Waitany.ends_in(wait_for_any);
  next.Waitsome.ends_in(wait_for_some);
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!requests.any() || !request) [[likely]]
    return next.Wait(request, status);
  Request* const ours = requests.find(*request);
  if (!ours) return next.Wait.to_its_end(request, status);
  requests.wait_for(*ours);
  return conclude(*ours, request, status).raise(next.Wait.name());
}

TUTTI_EXPORT int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests) [[likely]]
    return next.Waitall(count, array_of_requests, array_of_statuses);
  const Several several(count, array_of_requests);
  if (!several.is_there()) return no_memory(next.Waitall.name());
  for (int i = 0; several.has_ours() && i < count; ++i)
    if (several[i]) requests.wait_for(*several[i]);
  const auto wait_for = [&](MPI_Request* all) { return next.Waitall.to_its_end(count, all, array_of_statuses); };
  if (!several.has_ours()) return wait_for(array_of_requests);
  int flag = 1;
  return complete_all(several, array_of_requests, &flag, array_of_statuses, in_waitall, wait_for)
      .raise(next.Waitall.name());
}

TUTTI_EXPORT int MPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  if (!requests.any() || !array_of_requests || !indx) [[likely]]
    return next.Waitany(count, array_of_requests, indx, status);
  const Several several(count, array_of_requests);
  if (!several.is_there()) return no_memory(next.Waitany.name());
  Outcome outcome;
  if (several.has_ours() && !several.has_others()) {
    wait_until([&] { return complete_any(several, array_of_requests, indx, status, outcome); });
    return outcome.raise(next.Waitany.name());
  }
  requests.drive();
  several.show();
  if (const int code = next.Waitany.to_its_end(count, array_of_requests, indx, status); code != MPI_SUCCESS)
    return code;
  return concluded_by_host(several, array_of_requests, *indx, status).raise(next.Waitany.name());
}

TUTTI_EXPORT int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests || !outcount) [[likely]]
    return next.Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  const Several several(incount, array_of_requests);
  if (!several.is_there()) return no_memory(next.Waitsome.name());
  if (several.has_ours() && !several.has_others()) {
    Outcomes outcomes(MPI_SUCCESS, array_of_statuses);
    wait_until([&] { return complete_some(several, array_of_requests, outcount, array_of_indices, outcomes); });
    return outcomes.raise(next.Waitsome.name());
  }
  requests.drive();
  several.show();
  const auto wait_for = [&](int* done) {
    return next.Waitsome.to_its_end(incount, array_of_requests, done, array_of_indices, array_of_statuses);
  };
  return some_by_host(several, array_of_requests, outcount, array_of_indices, array_of_statuses, wait_for)
      .raise(next.Waitsome.name());
}

TUTTI_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!requests.any() || !request || !flag) [[likely]]
    return next.Test(request, flag, status);
  requests.drive();
  Request* const ours = requests.find(*request);
  if (!ours) return next.Test(request, flag, status);
  *flag = !is_open(*ours);
  if (!*flag) {
    requests.asked_in_vain();
    return MPI_SUCCESS;
  }
  return conclude(*ours, request, status).raise(next.Test.name());
}

TUTTI_EXPORT int MPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests || !flag) [[likely]]
    return next.Testall(count, array_of_requests, flag, array_of_statuses);
  requests.drive();
  const Several several(count, array_of_requests);
  if (!several.is_there()) return no_memory(next.Testall.name());
  const auto test = [&](MPI_Request* all) { return next.Testall(count, all, flag, array_of_statuses); };
  if (!several.has_ours()) return test(array_of_requests);
  if (several.any_open()) {
    requests.asked_in_vain();
    *flag = 0;
    return MPI_SUCCESS;
  }
  return complete_all(several, array_of_requests, flag, array_of_statuses, in_others_of_several, test)
      .raise(next.Testall.name());
}

TUTTI_EXPORT int MPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  if (!requests.any() || !array_of_requests || !indx || !flag) [[likely]]
    return next.Testany(count, array_of_requests, indx, flag, status);
  requests.drive();
  const Several several(count, array_of_requests);
  if (!several.is_there()) return no_memory(next.Testany.name());
  Outcome outcome;
  if (several.has_ours() && !several.has_others()) {
    *flag = complete_any(several, array_of_requests, indx, status, outcome);
    if (*flag) return outcome.raise(next.Testany.name());
    *indx = MPI_UNDEFINED;
    requests.asked_in_vain();
    return MPI_SUCCESS;
  }
  several.show();
  if (const int code = next.Testany(count, array_of_requests, indx, flag, status); code != MPI_SUCCESS || !*flag)
    return code;
  return concluded_by_host(several, array_of_requests, *indx, status).raise(next.Testany.name());
}

TUTTI_EXPORT int MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests || !outcount) [[likely]]
    return next.Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  requests.drive();
  const Several several(incount, array_of_requests);
  if (!several.is_there()) return no_memory(next.Testsome.name());
  if (several.has_ours() && !several.has_others()) {
    Outcomes outcomes(MPI_SUCCESS, array_of_statuses);
    if (!complete_some(several, array_of_requests, outcount, array_of_indices, outcomes)) requests.asked_in_vain();
    return outcomes.raise(next.Testsome.name());
  }
  several.show();
  const auto test = [&](int* done) {
    return next.Testsome(incount, array_of_requests, done, array_of_indices, array_of_statuses);
  };
  return some_by_host(several, array_of_requests, outcount, array_of_indices, array_of_statuses, test)
      .raise(next.Testsome.name());
}

TUTTI_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  requests.drive();
  const Request* const ours = requests.any() && flag ? requests.find(request) : nullptr;
  if (!ours) return next.Request_get_status(request, flag, status);
  *flag = !is_open(*ours);
  if (*flag)
    set_status(*ours, status, Error::stays);
  else
    requests.asked_in_vain();
  return MPI_SUCCESS;
}

namespace {

/// Functions that ask about several and complete none: the host answers, and knows nothing of ours but whether they are over.
class Asked {
 public:
  /// function: of MPI.
  Asked(int count, TUTTI_CONST_REQUEST* all, const char* function) : all_(all), count_(count) {
    requests.drive();
    if (!requests.any()) return;
    const Several several(count, all);
    if (several.is_there())
      several.show();
    else
      code_ = no_memory(function);
  }
  /// Answer of `ask`, which is the host's.
  template <class Ask>
  int code(const Ask& ask) const {
    return code_ == MPI_SUCCESS ? ask() : code_;
  }
  /// It has found the one at `index` complete, or none if that is negative.
  void tell(int index, MPI_Status* status) const {
    if (!requests.any() || status == MPI_STATUS_IGNORE || index < 0 || index >= count_) return;
    if (const Request* const ours = requests.find(all_[index])) set_status(*ours, status, Error::stays);
  }

 private:
  TUTTI_CONST_REQUEST* all_;
  int count_;
  int code_ = MPI_SUCCESS;
};

}  // namespace

TUTTI_EXPORT int MPI_Request_get_status_all(int count, TUTTI_CONST_REQUEST array_of_requests[], int* flag,
                                            MPI_Status array_of_statuses[]) {
  const Asked asked(count, array_of_requests, next.Request_get_status_all.name());
  const int code =
      asked.code([&] { return next.Request_get_status_all(count, array_of_requests, flag, array_of_statuses); });
  for (int i = 0; code == MPI_SUCCESS && *flag && i < count; ++i) asked.tell(i, status_at(array_of_statuses, i));
  return code;
}

TUTTI_EXPORT int MPI_Request_get_status_any(int count, TUTTI_CONST_REQUEST array_of_requests[], int* indx, int* flag,
                                            MPI_Status* status) {
  const Asked asked(count, array_of_requests, next.Request_get_status_any.name());
  const int code =
      asked.code([&] { return next.Request_get_status_any(count, array_of_requests, indx, flag, status); });
  if (code == MPI_SUCCESS && *flag) asked.tell(*indx, status);
  return code;
}

TUTTI_EXPORT int MPI_Request_get_status_some(int incount, TUTTI_CONST_REQUEST array_of_requests[], int* outcount,
                                             int array_of_indices[], MPI_Status array_of_statuses[]) {
  const Asked asked(incount, array_of_requests, next.Request_get_status_some.name());
  const int code = asked.code([&] {
    return next.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  });
  for (int i = 0; code == MPI_SUCCESS && i < *outcount; ++i)
    asked.tell(array_of_indices[i], status_at(array_of_statuses, i));
  return code;
}

/// An extension of MPICH, which programs ask in a loop around anything that makes the host go on, also out of the host's
/// progress: so the host is not asked to.
TUTTI_EXPORT int MPIX_Request_is_complete(MPI_Request request) {
  const Request* const ours = requests.any() ? requests.find(request) : nullptr;
  if (!ours) return next.Request_is_complete(request);
  if (is_open(*ours)) drive_without_host();
  return !is_open(*ours);
}

TUTTI_EXPORT int MPI_Request_free(MPI_Request* request) {
  if (!requests.any() || !request) return next.Request_free(request);
  requests.drive();
  Request* const ours = requests.find(*request);
  if (!ours) return next.Request_free(request);
#ifdef OPEN_MPI
  // Of a collective that is under way it refuses this, as MPI says.
  if (MPI_Request none = MPI_REQUEST_NULL; !ours->partitioned() && is_open(*ours)) return next.Request_free(&none);
#endif
  requests.free(*ours);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
