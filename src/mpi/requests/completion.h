// How requests of ours are completed: what the program is told of them, in statuses and by errors, and of several at once.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include "mpi/errors.h"
#include "mpi/host.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

// MPI leaves it to functions whether they write MPI_ERROR where nothing is wrong, and programs look at it all the same. Ours
// write it where the host's do.

enum class Error { stays, is_set };
constexpr Error in_waitall = Error::is_set;
#ifdef OPEN_MPI
constexpr Error in_others_of_several = Error::is_set;
#else
constexpr Error in_others_of_several = Error::stays;
#endif

/// Of no request, or of one that is inactive.
void set_empty(MPI_Status* status, Error error);
/// Of a request of ours that is complete: only a partitioned receive has something to tell.
void set_status(const Request& ours, MPI_Status* status, Error error);

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
Outcome conclude(Request& ours, MPI_Request* request, MPI_Status* status, Error error = Error::stays);

inline bool is_open(const Request& ours) {
  return ours.is_active() && !ours.is_complete();
}

/// Some of the program's requests.
class Several {
 public:
  Several(int count, const MPI_Request* all) : count_(all ? std::max(count, 0) : 0) {
    if (count_ > few) {
      many_.reset(new (std::nothrow) Request*[static_cast<std::size_t>(count_)]);
      many_others_.reset(new (std::nothrow) MPI_Request[static_cast<std::size_t>(count_)]);
      ours_ = many_.get();
      others_ = many_others_.get();
      if (!is_there()) count_ = 0;
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
  bool is_there() const { return ours_ && others_; }
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
  /// Those of the host alone: ask(requests) completes them, and returns its code.
  template <class Ask>
  int ask_about_others(MPI_Request* all, const Ask& ask) const {
    for (int i = 0; i < count_; ++i) others_[i] = ours_[i] ? MPI_REQUEST_NULL : all[i];
    const int code = ask(others_);
    for (int i = 0; i < count_; ++i)
      if (!ours_[i]) all[i] = others_[i];
    return code;
  }
  /// Concludes all[i], which is ours. A program may give one request twice, as hosts bear.
  Outcome conclude_at(int i, MPI_Request* all, MPI_Status* status, Error error) const {
    if (ours_count_ == 1 || requests.find(all[i]) == ours_[i]) return conclude(*ours_[i], &all[i], status, error);
    all[i] = MPI_REQUEST_NULL;
    set_empty(status, error);
    return {};
  }

 private:
  static constexpr int few = 32;
  int count_;
  int ours_count_ = 0;
  bool has_others_ = false;
  Request* few_[few];
  Request** ours_ = few_;
  MPI_Request few_others_[few];
  MPI_Request* others_ = few_others_;
  std::unique_ptr<Request*[]> many_;
  std::unique_ptr<MPI_Request[]> many_others_;
};

inline int no_memory(const char* function) {
  return raise(MPI_COMM_SELF, MPI_ERR_NO_MEM, function);
}

inline MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/// Functions that complete several requests return what happened to them in the statuses (MPI 4.1, section 3.7.5).
class Outcomes {
 public:
  /// code: what the host has returned, and so what the statuses say by now.
  Outcomes(int code, MPI_Status* statuses) : code_(code), statuses_(statuses) {}

  MPI_Status* status_at(int i) const { return mpi::status_at(statuses_, i); }
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

}  // namespace tutti::mpi
