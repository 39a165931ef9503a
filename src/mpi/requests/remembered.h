// Nonblocking receives of the host's with room for an envelope, but for no message that goes as one: what comes may be too
// long, or as long as an envelope. They stay the host's; when it completes one by a message of that length, that is looked
// at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/requests/message_calls.h"

namespace tutti::mpi {

class RememberedReceives {
 public:
  struct Receive {
    MessageBuffer into;
    MPI_Comm communicator;
    bool is_none = false;  ///< it has come, and is no envelope
  };

  /// Inside MPI_Init. among_threads: threads of the program may call MPI at the same time.
  void set_up(bool among_threads) { shared_ = among_threads; }
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  /// Throws std::bad_alloc.
  void add(MPI_Request handle, const Receive& receive);
  /// It is over, or the program has no handle of it any more. Nothing if it is none of these.
  std::optional<Receive> take(MPI_Request handle);
  /// A message of an envelope's length has been found in the host's queue: what has come before it, and was not told yet, is
  /// looked at.
  void look_ahead();

 private:
  struct Place {
    std::uintptr_t key = 0;
    bool is_taken = false;
    bool is_looked_at = false;
    MPI_Request handle = MPI_REQUEST_NULL;
    Receive receive{};
  };
  std::unique_lock<std::mutex> lock() {
    return shared_ ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }
  std::size_t place_of(std::uintptr_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & (places_.size() - 1);
  }
  std::size_t find(std::uintptr_t key) const;
  void grow();

  bool shared_ = true;
  std::mutex mutex_;
  std::vector<Place> places_;  ///< open addressing: a power of two, at most half of them taken
  std::atomic<std::size_t> count_{0};
};

extern RememberedReceives& remembered;

/// What a function completes that is given requests of the host's, some of which may be remembered.
class Completing {
 public:
  /// function: of MPI.
  Completing(const char* function, int count, const MPI_Request* requests, MPI_Status* statuses);
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;

  /// Where the host is to write statuses: the program may want none.
  MPI_Status* statuses() { return told_; }
  /// The host has completed the i-th; its status is the at-th. Returns a code of MPI.
  int completed(int i, int at);
  /// The host has completed all; its code.
  int completed_all(int code);

 private:
  const char* const function_;
  std::vector<MPI_Request> before_;
  std::vector<MPI_Status> own_;
  MPI_Status* told_;
  bool has_statuses_;
};

}  // namespace tutti::mpi
