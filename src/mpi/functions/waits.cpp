// The functions that complete requests. Those of ours they complete themselves: the host is asked about the others, and about
// all of them where it has to say which of several are complete. Programs without any of ours pay for one test.

#include "mpi/functions/waits.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>

#include "mpi/functions/interpose.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/partitioned_calls.h"
#include "mpi/requests/remembered.h"
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

/// Whether the host may answer as if we were not there.
bool is_all_of_host() {
  return !requests.any() && !remembered.any();
}

// The host's functions, which go on to tools, and then what has come is looked at.

int one_by_host(const char* function, MPI_Request* request, MPI_Status* status, int* flag) {
  Completing completing(function, request ? 1 : 0, request, status);
  const int code =
      flag ? next.Test(request, flag, completing.statuses()) : next.Wait.to_its_end(request, completing.statuses());
  return code == MPI_SUCCESS && (!flag || *flag) ? completing.completed(0, 0) : code;
}

int all_by_host(const char* function, int count, MPI_Request all[], MPI_Status statuses[], int* flag) {
  Completing completing(function, count, all, statuses);
  const int code = flag ? next.Testall(count, all, flag, completing.statuses())
                        : next.Waitall.to_its_end(count, all, completing.statuses());
  return !flag || *flag ? completing.completed_all(code) : code;
}

int any_by_host(const char* function, int count, MPI_Request all[], int* index, MPI_Status* status, int* flag) {
  Completing completing(function, count, all, status);
  const int code = flag ? next.Testany(count, all, index, flag, completing.statuses())
                        : next.Waitany.to_its_end(count, all, index, completing.statuses());
  return code == MPI_SUCCESS && (!flag || *flag) && *index != MPI_UNDEFINED ? completing.completed(*index, 0) : code;
}

int some_by_host(const char* function, int count, MPI_Request all[], int* done, int indices[], MPI_Status statuses[],
                 bool waits) {
  Completing completing(function, count, all, statuses);
  int code = waits ? next.Waitsome.to_its_end(count, all, done, indices, completing.statuses())
                   : next.Testsome(count, all, done, indices, completing.statuses());
  for (int i = 0; code == MPI_SUCCESS && *done != MPI_UNDEFINED && i < *done; ++i)
    if (const int error = completing.completed(indices[i], i); error != MPI_SUCCESS) code = error;
  return code;
}

// What the program is told of requests of ours, in statuses and by errors.

// MPI leaves it to functions whether they write MPI_ERROR where nothing is wrong, and programs look at it all the same. Ours
// write it where the host's do.

enum class Error { stays, is_set };
constexpr Error in_waitall = Error::is_set;
#ifdef OPEN_MPI
constexpr Error in_others_of_several = Error::is_set;
#else
constexpr Error in_others_of_several = Error::stays;
#endif

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

/// Of no request, or of one that is inactive.
void set_empty(MPI_Status* status, Error error) {
  set_status(status, empty_status().error == Error::is_set ? Error::is_set : error);
}

/// Of a request of ours that is complete: only a message that was received has something to tell.
void set_status(const Request& ours, MPI_Status* status, Error error) {
  if (!ours.is_active()) return set_empty(status, error);
  set_status(status, error);
  if (ours.message() && status != MPI_STATUS_IGNORE) ours.message()->tell(*status);
}

/// What became of a request of ours.
struct Outcome {
  int code = MPI_SUCCESS;
  MPI_Comm communicator = MPI_COMM_NULL;
  std::exception_ptr thrown;  ///< by an operator of the program

  /// function: which the program has called.
  int raise(const char* function) const {
    if (thrown) [[unlikely]]
      std::rethrow_exception(thrown);
    if (code != MPI_SUCCESS) [[unlikely]]
      mpi::raise(communicator, code, function);
    return code;
  }
};

/// The program is told that `ours`, which is complete, is so: *request is its handle.
Outcome conclude(Request& ours, MPI_Request* request, MPI_Status* status, Error error = Error::stays) {
  set_status(ours, status, error);
  Outcome outcome;
  if (ours.is_active() && (ours.code() != MPI_SUCCESS || ours.thrown())) [[unlikely]]
    outcome = {ours.code(), ours.communicator_for_errors(), ours.thrown()};
  if (!ours.is_persistent()) *request = MPI_REQUEST_NULL;
  requests.conclude(ours);
  return outcome;
}

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
    if (outcome.thrown) [[unlikely]]
      raised_.thrown = outcome.thrown;
    if (outcome.code == MPI_SUCCESS) [[likely]]
      return;
    for (int i = 0; statuses_ != MPI_STATUSES_IGNORE && code_ == MPI_SUCCESS && i < count; ++i)
      statuses_[i].MPI_ERROR = MPI_SUCCESS;
    if (statuses_ != MPI_STATUSES_IGNORE) statuses_[at].MPI_ERROR = outcome.code;
    code_ = MPI_ERR_IN_STATUS;
    raised_.code = outcome.code;
    raised_.communicator = outcome.communicator;
  }
  int raise(const char* function) const {
    raised_.raise(function);
    return code_;
  }

 private:
  int code_;
  MPI_Status* statuses_;
  Outcome raised_;
};

enum class How { waits, asks };

/// Some of the program's requests, in a function of MPI that waits for them or asks about them.
class Several {
 public:
  /// function: of MPI. count: of `all`, as the program says.
  Several(const char* function, How how, int count, TUTTI_CONST_REQUEST* all)
      : function_(function),
        how_(how),
        all_(const_cast<MPI_Request*>(all)),
        count_(all && requests.any() ? std::max(count, 0) : 0) {
    if (how == How::asks) requests.drive();
    if (count_ > few) {
      many_.reset(new (std::nothrow) Request*[static_cast<std::size_t>(count_)]);
      ours_ = many_.get();
      if (!ours_) count_ = 0;
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

  /// False if there is no memory to look at so many.
  bool is_there() const { return ours_ != nullptr; }
  int no_memory() const { return raise(MPI_COMM_SELF, MPI_ERR_NO_MEM, function_); }
  const char* function() const { return function_; }
  bool waits() const { return how_ == How::waits; }
  int count() const { return count_; }
  /// Null if it is none of ours.
  Request* operator[](int i) const { return ours_[i]; }
  bool has_ours() const { return ours_count_ > 0; }
  bool has_others() const { return has_others_; }
  /// The first of ours of which it is so; -1 if there is none.
  int find(bool (Request::*is)() const) const {
    for (int i = 0; has_ours() && i < count_; ++i)
      if (ours_[i] && (ours_[i]->*is)()) return i;
    return -1;
  }
  /// Waits until complete(), which may complete something, is true, or asks once.
  template <class Complete>
  bool complete(const Complete& complete) const {
    if (waits()) {
      sync::wait(*job()->node.waiter, {"MPI_Wait", nullptr, 0, -1}, [&, over = false]() mutable {
        if (over) return true;
        requests.drive();
        return over = complete();
      });
      return true;
    }
    if (complete()) return true;
    requests.asked_in_vain();
    return false;
  }
  /// The host is about to look at all of them.
  void show() const {
    if (waits()) requests.drive();
    for (int i = 0; has_ours() && i < count_; ++i)
      if (ours_[i]) requests.show(*ours_[i]);
  }
  /// ask(), by which the host completes all, sees those of the host alone.
  template <class Ask>
  int ask_about_others(const Ask& ask) const {
    for (int i = 0; i < count_; ++i)
      if (ours_[i]) all_[i] = MPI_REQUEST_NULL;
    const int code = ask();
    for (int i = 0; i < count_; ++i)
      if (ours_[i]) all_[i] = ours_[i]->handle();
    return code;
  }
  /// Concludes the i-th, which is ours. A program may give one request twice, as hosts bear.
  Outcome conclude_at(int i, MPI_Status* status, Error error = Error::stays) const {
    if (ours_count_ == 1 || requests.find(all_[i]) == ours_[i]) return conclude(*ours_[i], &all_[i], status, error);
    all_[i] = MPI_REQUEST_NULL;
    set_empty(status, error);
    return {};
  }
  /// The host has found the i-th complete. False if it is none of ours, or the program has been told: a tool may have asked by
  /// another function than it was asked by.
  bool is_to_be_concluded(int i) const {
    return i >= 0 && i < count_ && ours_[i] && all_[i] != MPI_REQUEST_NULL && requests.find(all_[i]) == ours_[i] &&
           ours_[i]->is_active();
  }

 private:
  static constexpr int few = 32;
  const char* const function_;
  const How how_;
  MPI_Request* const all_;
  int count_;
  int ours_count_ = 0;
  bool has_others_ = false;
  Request* few_[few];
  Request** ours_ = few_;
  std::unique_ptr<Request*[]> many_;
};

// Each of the next serves a function that waits and one that asks. by_host(): the host's answer, of all or of its own alone.

template <class ByHost>
int complete_all(const Several& several, int* flag, MPI_Status* statuses, const ByHost& by_host) {
  if (!several.is_there()) return several.no_memory();
  if (!several.has_ours()) return by_host();
  for (int i = 0; several.waits() && i < several.count(); ++i)
    if (several[i]) requests.wait_for(*several[i]);
  *flag = several.waits() || several.complete([&] { return several.find(&Request::is_open) < 0; });
  if (!*flag) return MPI_SUCCESS;
  const Error error = several.waits() ? in_waitall : in_others_of_several;
  Outcomes outcomes(several.has_others() ? several.ask_about_others(by_host) : static_cast<int>(MPI_SUCCESS), statuses);
  for (int i = 0; *flag && i < several.count(); ++i) {
    if (several[i])
      outcomes.add(i, several.conclude_at(i, status_at(statuses, i), error), several.count());
    else if (!several.has_others())
      set_empty(status_at(statuses, i), error);
  }
  return outcomes.raise(several.function());
}

template <class ByHost>
int complete_any(const Several& several, int* index, int* flag, MPI_Status* status, const ByHost& by_host) {
  if (!several.is_there()) return several.no_memory();
  if (several.has_others() || !several.has_ours()) {
    several.show();
    // Where the host has an error of its own, ours is not asked.
    const int code = by_host();
    if (code != MPI_SUCCESS || !*flag || !several.is_to_be_concluded(*index)) return code;
    return several.conclude_at(*index, status).raise(several.function());
  }
  Outcome outcome;
  *flag = several.complete([&] {
    *index = several.find(&Request::is_complete);
    if (*index >= 0) {
      outcome = several.conclude_at(*index, status);
      return true;
    }
    *index = MPI_UNDEFINED;
    if (several.find(&Request::is_active) >= 0) return false;
    set_empty(status, Error::stays);
    return true;
  });
  return outcome.raise(several.function());
}

/// by_host(&done): where it fails, the host may say nothing of how many are done.
template <class ByHost>
int complete_some(const Several& several, int* outcount, int* indices, MPI_Status* statuses, const ByHost& by_host) {
  if (!several.is_there()) return several.no_memory();
  if (several.has_others() || !several.has_ours()) {
    several.show();
    constexpr int nothing_said = -1;
    static_assert(MPI_UNDEFINED != nothing_said);
    int done = nothing_said;
    Outcomes outcomes(by_host(&done), statuses);
    if (done != nothing_said) *outcount = done;
    for (int i = 0; several.has_ours() && i < done; ++i)
      if (several.is_to_be_concluded(indices[i]))
        outcomes.add(i, several.conclude_at(indices[i], status_at(statuses, i)), done);
    return outcomes.raise(several.function());
  }
  Outcomes outcomes(MPI_SUCCESS, statuses);
  several.complete([&] {
    *outcount = MPI_UNDEFINED;
    if (several.find(&Request::is_active) < 0) return true;
    int done = 0;
    for (int i = 0; i < several.count(); ++i)
      if (several[i] && several[i]->is_complete()) indices[done++] = i;
    for (int i = 0; i < done; ++i)
      outcomes.add(i, several.conclude_at(indices[i], status_at(statuses, i), in_others_of_several), done);
    *outcount = done;
    return done > 0;
  });
  return outcomes.raise(several.function());
}

/// Functions that ask about several and complete none: the host answers, and knows nothing of ours but whether they are over.
template <class ByHost>
int ask_about(const Several& several, const ByHost& by_host) {
  if (!several.is_there()) return several.no_memory();
  several.show();
  return by_host();
}
/// The host has found the one at `index` complete, or none if that is negative.
void tell(const Several& several, int index, MPI_Status* status) {
  if (index >= 0 && index < several.count() && several[index]) set_status(*several[index], status, Error::stays);
}

/// What is ours of a request that may be null.
Request* find_ours(const MPI_Request* request) {
  return requests.any() && request ? requests.find(*request) : nullptr;
}
/// Whether it can be concluded now, as who asks about one finds it.
bool is_over(const Request& ours) {
  if (!ours.is_open()) return true;
  requests.asked_in_vain();
  return false;
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
  if (is_all_of_host() || !request) [[likely]]
    return next.Wait(request, status);
  Request* const ours = requests.find(*request);
  if (!ours) return one_by_host(next.Wait.name(), request, status, nullptr);
  requests.wait_for(*ours);
  return conclude(*ours, request, status).raise(next.Wait.name());
}

TUTTI_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (is_all_of_host() || !request || !flag) [[likely]]
    return next.Test(request, flag, status);
  requests.drive();
  Request* const ours = requests.find(*request);
  if (!ours) return one_by_host(next.Test.name(), request, status, flag);
  *flag = is_over(*ours);
  return *flag ? conclude(*ours, request, status).raise(next.Test.name()) : static_cast<int>(MPI_SUCCESS);
}

TUTTI_EXPORT int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (is_all_of_host() || !array_of_requests) [[likely]]
    return next.Waitall(count, array_of_requests, array_of_statuses);
  int flag = 1;
  return complete_all(
      Several(next.Waitall.name(), How::waits, count, array_of_requests), &flag, array_of_statuses,
      [&] { return all_by_host(next.Waitall.name(), count, array_of_requests, array_of_statuses, nullptr); });
}

TUTTI_EXPORT int MPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  if (is_all_of_host() || !array_of_requests || !flag) [[likely]]
    return next.Testall(count, array_of_requests, flag, array_of_statuses);
  return complete_all(Several(next.Testall.name(), How::asks, count, array_of_requests), flag, array_of_statuses, [&] {
    return all_by_host(next.Testall.name(), count, array_of_requests, array_of_statuses, flag);
  });
}

TUTTI_EXPORT int MPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  if (is_all_of_host() || !array_of_requests || !indx) [[likely]]
    return next.Waitany(count, array_of_requests, indx, status);
  int flag = 1;
  return complete_any(Several(next.Waitany.name(), How::waits, count, array_of_requests), indx, &flag, status, [&] {
    return any_by_host(next.Waitany.name(), count, array_of_requests, indx, status, nullptr);
  });
}

TUTTI_EXPORT int MPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  if (is_all_of_host() || !array_of_requests || !indx || !flag) [[likely]]
    return next.Testany(count, array_of_requests, indx, flag, status);
  return complete_any(Several(next.Testany.name(), How::asks, count, array_of_requests), indx, flag, status,
                      [&] { return any_by_host(next.Testany.name(), count, array_of_requests, indx, status, flag); });
}

TUTTI_EXPORT int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (is_all_of_host() || !array_of_requests || !outcount) [[likely]]
    return next.Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  const auto by_host = [&](int* done) {
    return some_by_host(next.Waitsome.name(), incount, array_of_requests, done, array_of_indices, array_of_statuses,
                        true);
  };
  return complete_some(Several(next.Waitsome.name(), How::waits, incount, array_of_requests), outcount,
                       array_of_indices, array_of_statuses, by_host);
}

TUTTI_EXPORT int MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                              MPI_Status array_of_statuses[]) {
  if (is_all_of_host() || !array_of_requests || !outcount) [[likely]]
    return next.Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  const auto by_host = [&](int* done) {
    return some_by_host(next.Testsome.name(), incount, array_of_requests, done, array_of_indices, array_of_statuses,
                        false);
  };
  return complete_some(Several(next.Testsome.name(), How::asks, incount, array_of_requests), outcount, array_of_indices,
                       array_of_statuses, by_host);
}

TUTTI_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  requests.drive();
  const Request* const ours = flag ? find_ours(&request) : nullptr;
  if (!ours) return next.Request_get_status(request, flag, status);
  *flag = is_over(*ours);
  if (*flag) set_status(*ours, status, Error::stays);
  return MPI_SUCCESS;
}

TUTTI_EXPORT int MPI_Request_get_status_all(int count, TUTTI_CONST_REQUEST array_of_requests[], int* flag,
                                            MPI_Status array_of_statuses[]) {
  const Several several(next.Request_get_status_all.name(), How::asks, count, array_of_requests);
  const int code = ask_about(
      several, [&] { return next.Request_get_status_all(count, array_of_requests, flag, array_of_statuses); });
  for (int i = 0; code == MPI_SUCCESS && *flag && i < count; ++i) tell(several, i, status_at(array_of_statuses, i));
  return code;
}

TUTTI_EXPORT int MPI_Request_get_status_any(int count, TUTTI_CONST_REQUEST array_of_requests[], int* indx, int* flag,
                                            MPI_Status* status) {
  const Several several(next.Request_get_status_any.name(), How::asks, count, array_of_requests);
  const int code =
      ask_about(several, [&] { return next.Request_get_status_any(count, array_of_requests, indx, flag, status); });
  if (code == MPI_SUCCESS && *flag) tell(several, *indx, status);
  return code;
}

TUTTI_EXPORT int MPI_Request_get_status_some(int incount, TUTTI_CONST_REQUEST array_of_requests[], int* outcount,
                                             int array_of_indices[], MPI_Status array_of_statuses[]) {
  const Several several(next.Request_get_status_some.name(), How::asks, incount, array_of_requests);
  const int code = ask_about(several, [&] {
    return next.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  });
  for (int i = 0; code == MPI_SUCCESS && i < *outcount; ++i)
    tell(several, array_of_indices[i], status_at(array_of_statuses, i));
  return code;
}

/// An extension of MPICH, which programs ask in a loop around anything that makes the host go on, also out of the host's
/// progress: so the host is not asked to.
TUTTI_EXPORT int MPIX_Request_is_complete(MPI_Request request) {
  const Request* const ours = find_ours(&request);
  if (!ours) return next.Request_is_complete(request);
  if (ours->is_open()) drive_without_host();
  return !ours->is_open();
}

TUTTI_EXPORT int MPI_Request_free(MPI_Request* request) {
  if (is_all_of_host() || !request) return next.Request_free(request);
  remembered.take(*request, false);
  requests.drive();
  Request* const ours = requests.find(*request);
  if (!ours) return next.Request_free(request);
#ifdef OPEN_MPI
  // Of a collective that is under way it refuses this, as MPI says.
  if (MPI_Request none = MPI_REQUEST_NULL; !ours->message() && ours->is_open()) return next.Request_free(&none);
#endif
  requests.free(*ours);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
