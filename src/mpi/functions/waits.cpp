// The functions that complete requests. Those of ours they complete themselves: the host is asked about the others, and about
// all of them where it has to say which of several are complete. Programs without any of ours pay for one test.

#include "mpi/functions/waits.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "mpi/functions/interpose.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

/// Of no elements, and not cancelled (MPI 4.1, section 3.7.3).
MPI_Status make_empty_status() {
  MPI_Status status{};
  host.Status_set_elements(&status, MPI_BYTE, 0);
  host.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  return status;
}

/// Its error stays: functions that complete one request return that.
void set_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  static const MPI_Status empty = make_empty_status();
  const int error = status->MPI_ERROR;
  *status = empty;
  status->MPI_ERROR = error;
}

/// Of a request of ours that is complete: only a partitioned receive has something to tell.
void set_status(const Request& ours, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  set_empty(status);
  if (ours.partitioned() && ours.is_active()) ours.partitioned()->tell(*status);
}

/// What became of a request of ours.
struct Outcome {
  int code = MPI_SUCCESS;
  MPI_Comm communicator = MPI_COMM_NULL;

  int raise() const {
    if (code != MPI_SUCCESS) [[unlikely]]
      host.Comm_call_errhandler(communicator, code);
    return code;
  }
};

/// The program is told that `ours`, which is complete, is so: *request is its handle.
Outcome conclude(Request& ours, MPI_Request* request, MPI_Status* status) {
  set_status(ours, status);
  Outcome outcome;
  if (ours.is_active() && ours.code() != MPI_SUCCESS) [[unlikely]]
    outcome = {ours.code(), ours.communicator_for_errors()};
  if (!ours.is_persistent()) *request = MPI_REQUEST_NULL;
  requests.conclude(ours);
  return outcome;
}

bool is_open(const Request& ours) {
  return ours.is_active() && !ours.is_complete();
}

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
  return ask_until_true([&](int* flag) { return host.Testall(count, all, flag, statuses); });
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

/// Some of the program's requests.
class Several {
 public:
  Several(int count, const MPI_Request* all) : count_(all ? std::max(count, 0) : 0) {
    if (count_ > few) {
      many_ = std::make_unique<Request*[]>(static_cast<std::size_t>(count_));
      ours_ = many_.get();
    }
    for (int i = 0; i < count_; ++i) {
      ours_[i] = all[i] == MPI_REQUEST_NULL ? nullptr : requests.find(all[i]);
      if (ours_[i])
        ++ours_count_;
      else if (all[i] != MPI_REQUEST_NULL)
        has_others_ = true;
    }
  }
  Several(const Several&) = delete;
  Several& operator=(const Several&) = delete;

  int count() const { return count_; }
  /// Null if it is none of ours.
  Request* operator[](int i) const { return ours_[i]; }
  bool has_ours() const { return ours_count_ > 0; }
  bool has_others() const { return has_others_; }
  template <class Is>
  int find(const Is& is) const {
    for (int i = 0; i < count_; ++i)
      if (ours_[i] && is(*ours_[i])) return i;
    return -1;
  }
  bool any_open() const { return has_ours() && find(is_open) >= 0; }
  void show() const {
    for (int i = 0; has_ours() && i < count_; ++i)
      if (ours_[i]) requests.show(*ours_[i]);
  }

 private:
  static constexpr int few = 32;
  int count_;
  int ours_count_ = 0;
  bool has_others_ = false;
  Request* few_[few];
  Request** ours_ = few_;
  std::unique_ptr<Request*[]> many_;
};

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/// Functions that complete several requests return what happened to them in the statuses (MPI 4.1, section 3.7.5).
class Outcomes {
 public:
  /// code: what the host has returned, and so what the statuses say by now.
  Outcomes(int code, MPI_Status* statuses) : code_(code), statuses_(statuses) {}

  /// The one whose status is statuses[at]; ours has no errors but its own. before: how many have one.
  void add(int at, const Outcome& outcome, int count) {
    if (outcome.code == MPI_SUCCESS) [[likely]]
      return;
    for (int i = 0; statuses_ != MPI_STATUSES_IGNORE && code_ == MPI_SUCCESS && i < count; ++i)
      statuses_[i].MPI_ERROR = MPI_SUCCESS;
    if (statuses_ != MPI_STATUSES_IGNORE) statuses_[at].MPI_ERROR = outcome.code;
    code_ = MPI_ERR_IN_STATUS;
    raised_ = outcome;
  }
  int raise() const {
    raised_.raise();
    return code_;
  }

 private:
  int code_;
  MPI_Status* statuses_;
  Outcome raised_;
};

/// All of ours are complete. ask(requests): what the host does to complete all others; returns its code, and may set *flag to 0.
template <class Ask>
int complete_all(const Several& several, MPI_Request* all, int* flag, MPI_Status* statuses, const Ask& ask) {
  const int count = several.count();
  int code = MPI_SUCCESS;
  *flag = 1;
  if (several.has_others()) {
    const auto others = std::make_unique<MPI_Request[]>(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) others[static_cast<std::size_t>(i)] = several[i] ? MPI_REQUEST_NULL : all[i];
    code = ask(others.get());
    for (int i = 0; i < count; ++i)
      if (!several[i]) all[i] = others[static_cast<std::size_t>(i)];
    if (!*flag) return code;
  }
  Outcomes outcomes(code, statuses);
  for (int i = 0; i < count; ++i) {
    if (several[i])
      outcomes.add(i, conclude(*several[i], &all[i], status_at(statuses, i)), count);
    else if (!several.has_others())
      set_empty(status_at(statuses, i));
  }
  return outcomes.raise();
}

/// The first of ours that the program may be told of; -1 if there is none.
int find_complete(const Several& several) {
  return several.find([](const Request& each) { return each.is_active() && each.is_complete(); });
}
bool any_active(const Several& several) {
  return several.find([](const Request& each) { return each.is_active(); }) >= 0;
}

/// All are ours. Whether one could be completed, or none is active.
bool complete_any(const Several& several, MPI_Request* all, int* index, MPI_Status* status, int* code) {
  *index = find_complete(several);
  if (*index < 0 && any_active(several)) return false;
  if (*index < 0) {
    set_empty(status);
    *index = MPI_UNDEFINED;
  } else {
    *code = conclude(*several[*index], &all[*index], status).raise();
  }
  return true;
}

/// The same of all that can be completed.
bool complete_some(const Several& several, MPI_Request* all, int* done, int* indices, MPI_Status* statuses, int* code) {
  *done = MPI_UNDEFINED;
  if (!any_active(several)) return true;
  *done = 0;
  for (int i = 0; i < several.count(); ++i)
    if (several[i] && several[i]->is_active() && several[i]->is_complete()) indices[(*done)++] = i;
  Outcomes outcomes(MPI_SUCCESS, statuses);
  for (int i = 0; i < *done; ++i)
    outcomes.add(i, conclude(*several[indices[i]], &all[indices[i]], status_at(statuses, i)), *done);
  *code = outcomes.raise();
  return *done > 0;
}

/// The one of ours that the host has found complete; null if it is none, or the program has been told: a tool may have asked
/// by another function than it was asked by.
Request* find_told(const Several& several, const MPI_Request* all, int index) {
  if (index < 0 || index >= several.count() || all[index] == MPI_REQUEST_NULL) return nullptr;
  Request* const ours = several[index];
  return ours && ours->is_active() ? ours : nullptr;
}

/// The host has found those complete whose `indices` it says, and has returned `code`. done: negative if it has not said so.
int concluded_by_host(const Several& several, MPI_Request* all, int done, const int* indices, MPI_Status* statuses,
                      int code) {
  Outcomes outcomes(code, statuses);
  for (int i = 0; several.has_ours() && i < done; ++i) {
    if (Request* const ours = find_told(several, all, indices[i]))
      outcomes.add(i, conclude(*ours, &all[indices[i]], status_at(statuses, i)), done);
  }
  return outcomes.raise();
}
int concluded_by_host(const Several& several, MPI_Request* all, int index, MPI_Status* status, int code) {
  Request* const ours = code == MPI_SUCCESS ? find_told(several, all, index) : nullptr;
  return ours ? conclude(*ours, &all[index], status).raise() : code;
}

/// ask(&done): the host's Waitsome or Testsome. Where it fails it may say nothing of how many there are.
template <class Ask>
int some_by_host(const Several& several, MPI_Request* all, int* outcount, const int* indices, MPI_Status* statuses,
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
  return conclude(*ours, request, status).raise();
}

TUTTI_EXPORT int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests) [[likely]]
    return next.Waitall(count, array_of_requests, array_of_statuses);
  const Several several(count, array_of_requests);
  for (int i = 0; several.has_ours() && i < count; ++i)
    if (several[i]) requests.wait_for(*several[i]);
  const auto wait_for = [&](MPI_Request* all) { return next.Waitall.to_its_end(count, all, array_of_statuses); };
  if (!several.has_ours()) return wait_for(array_of_requests);
  int flag = 1;
  return complete_all(several, array_of_requests, &flag, array_of_statuses, wait_for);
}

TUTTI_EXPORT int MPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  if (!requests.any() || !array_of_requests || !indx) [[likely]]
    return next.Waitany(count, array_of_requests, indx, status);
  const Several several(count, array_of_requests);
  int code = MPI_SUCCESS;
  if (several.has_ours() && !several.has_others()) {
    wait_until([&] { return complete_any(several, array_of_requests, indx, status, &code); });
    return code;
  }
  requests.drive();
  several.show();
  code = next.Waitany.to_its_end(count, array_of_requests, indx, status);
  return concluded_by_host(several, array_of_requests, *indx, status, code);
}

TUTTI_EXPORT int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests || !outcount) [[likely]]
    return next.Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  const Several several(incount, array_of_requests);
  int code = MPI_SUCCESS;
  if (several.has_ours() && !several.has_others()) {
    wait_until([&] {
      return complete_some(several, array_of_requests, outcount, array_of_indices, array_of_statuses, &code);
    });
    return code;
  }
  requests.drive();
  several.show();
  return some_by_host(several, array_of_requests, outcount, array_of_indices, array_of_statuses, [&](int* done) {
    return next.Waitsome.to_its_end(incount, array_of_requests, done, array_of_indices, array_of_statuses);
  });
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
  return conclude(*ours, request, status).raise();
}

TUTTI_EXPORT int MPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests || !flag) [[likely]]
    return next.Testall(count, array_of_requests, flag, array_of_statuses);
  requests.drive();
  const Several several(count, array_of_requests);
  const auto test = [&](MPI_Request* all) { return next.Testall(count, all, flag, array_of_statuses); };
  if (!several.has_ours()) return test(array_of_requests);
  if (several.any_open()) {
    requests.asked_in_vain();
    *flag = 0;
    return MPI_SUCCESS;
  }
  return complete_all(several, array_of_requests, flag, array_of_statuses, test);
}

TUTTI_EXPORT int MPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  if (!requests.any() || !array_of_requests || !indx || !flag) [[likely]]
    return next.Testany(count, array_of_requests, indx, flag, status);
  requests.drive();
  const Several several(count, array_of_requests);
  int code = MPI_SUCCESS;
  if (several.has_ours() && !several.has_others()) {
    *flag = complete_any(several, array_of_requests, indx, status, &code);
    if (*flag) return code;
    *indx = MPI_UNDEFINED;
    requests.asked_in_vain();
    return MPI_SUCCESS;
  }
  several.show();
  code = next.Testany(count, array_of_requests, indx, flag, status);
  return concluded_by_host(several, array_of_requests, code == MPI_SUCCESS && *flag ? *indx : -1, status, code);
}

TUTTI_EXPORT int MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (!requests.any() || !array_of_requests || !outcount) [[likely]]
    return next.Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  requests.drive();
  const Several several(incount, array_of_requests);
  int code = MPI_SUCCESS;
  if (several.has_ours() && !several.has_others()) {
    if (!complete_some(several, array_of_requests, outcount, array_of_indices, array_of_statuses, &code))
      requests.asked_in_vain();
    return code;
  }
  several.show();
  return some_by_host(several, array_of_requests, outcount, array_of_indices, array_of_statuses, [&](int* done) {
    return next.Testsome(incount, array_of_requests, done, array_of_indices, array_of_statuses);
  });
}

TUTTI_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  requests.drive();
  const Request* const ours = requests.any() && flag ? requests.find(request) : nullptr;
  if (!ours) return next.Request_get_status(request, flag, status);
  *flag = !is_open(*ours);
  if (*flag)
    set_status(*ours, status);
  else
    requests.asked_in_vain();
  return MPI_SUCCESS;
}

namespace {

/// Functions that ask about several and complete none: the host answers, and knows nothing of ours but whether they are over.
class Asked {
 public:
  Asked(int count, TUTTI_CONST_REQUEST* all) : all_(all), count_(count) {
    requests.drive();
    if (requests.any()) Several(count, all).show();
  }
  /// It has found the one at `index` complete, or none if that is negative.
  void tell(int index, MPI_Status* status) const {
    if (!requests.any() || status == MPI_STATUS_IGNORE || index < 0 || index >= count_) return;
    if (const Request* const ours = requests.find(all_[index])) set_status(*ours, status);
  }

 private:
  TUTTI_CONST_REQUEST* all_;
  int count_;
};

}  // namespace

TUTTI_EXPORT int MPI_Request_get_status_all(int count, TUTTI_CONST_REQUEST array_of_requests[], int* flag,
                                            MPI_Status array_of_statuses[]) {
  const Asked asked(count, array_of_requests);
  const int code = next.Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
  for (int i = 0; code == MPI_SUCCESS && *flag && i < count; ++i) asked.tell(i, status_at(array_of_statuses, i));
  return code;
}

TUTTI_EXPORT int MPI_Request_get_status_any(int count, TUTTI_CONST_REQUEST array_of_requests[], int* indx, int* flag,
                                            MPI_Status* status) {
  const Asked asked(count, array_of_requests);
  const int code = next.Request_get_status_any(count, array_of_requests, indx, flag, status);
  if (code == MPI_SUCCESS && *flag) asked.tell(*indx, status);
  return code;
}

TUTTI_EXPORT int MPI_Request_get_status_some(int incount, TUTTI_CONST_REQUEST array_of_requests[], int* outcount,
                                             int array_of_indices[], MPI_Status array_of_statuses[]) {
  const Asked asked(incount, array_of_requests);
  const int code =
      next.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  for (int i = 0; code == MPI_SUCCESS && i < *outcount; ++i)
    asked.tell(array_of_indices[i], status_at(array_of_statuses, i));
  return code;
}

TUTTI_EXPORT int MPI_Request_free(MPI_Request* request) {
  if (requests.any() && request) {
    requests.drive();
    if (Request* const ours = requests.find(*request)) {
      requests.free(*ours);
      *request = MPI_REQUEST_NULL;
      return MPI_SUCCESS;
    }
  }
  return next.Request_free(request);
}
