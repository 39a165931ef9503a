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
  /// As MPI_Irecv is given it.
  struct Receive {
    void* buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    Matching matching;
    bool is_envelope = false;  ///< it has come, and is one
  };

  /// Inside MPI_Init. among_threads: threads of the program may call MPI at the same time.
  void set_up(bool among_threads) { shared_ = among_threads; }
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  /// What MPI_Irecv was given. Throws std::bad_alloc.
  [[gnu::always_inline]] void add(MPI_Request handle, void* buffer, MPI_Count count, MPI_Datatype datatype,
                                  const Matching& matching) {
    const auto locked = lock();
    const std::size_t before = count_.load(std::memory_order_relaxed);
    if (2 * (before + 1) > places_.size()) [[unlikely]]
      grow();
    Place& place = places_[find(handle)];
    // The host has given a handle anew whose end was not seen.
    if (!place.is_taken) count_.store(before + 1, std::memory_order_relaxed);
    // One by one: a copy of all of it at once would wait for each part that has just been stored.
    place.handle = handle;
    place.receive.buffer = buffer;
    place.receive.count = count;
    place.receive.datatype = datatype;
    place.receive.matching = matching;
    place.receive.is_envelope = place.is_over = place.is_known = place.is_asked = false;
    place.is_taken = true;
  }
  /// It is over, or the program has no handle of it any more. is_as_long: as an envelope: what is to be looked at then, if it
  /// is one of these.
  std::optional<Receive> take(MPI_Request handle, bool is_as_long);
  /// The same of each that was completed by a message of another length. True if there are messages of this length: what these
  /// have completed is left.
  bool take_others(const MPI_Request* handles, const MPI_Status* statuses, int count);
  /// A message of an envelope's length has been found in the host's queue: what has come before it, and was not told yet, is
  /// looked at.
  void look_ahead();
  /// The calling thread is about to ask the host for these requests, or has asked for those that are as they were.
  void set_asked(const MPI_Request* handles, const MPI_Request* now, int count, bool is_asked);
  /// Whether one that has not come may have been matched with `message`.
  bool may_have(const Matching& message);

 private:
  /// A line of the caches: a program that computes meanwhile finds none of them there.
  struct alignas(64) Place {
    MPI_Request handle = MPI_REQUEST_NULL;
    Receive receive{};
    bool is_taken = false;
    bool is_over = false;   ///< it has come
    bool is_known = false;  ///< the same, and it was looked at
    bool is_asked = false;  ///< a thread asks the host for it: from one moment to the next its handle may be another's
  };
  std::unique_lock<std::mutex> lock() {
    return shared_ ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }
  std::size_t place_of(MPI_Request handle) const {
    return static_cast<std::size_t>((key_of(handle) * 0x9e3779b97f4a7c15u) >> 32) & (places_.size() - 1);
  }
  std::size_t find(MPI_Request handle) const {
    std::size_t at = place_of(handle);
    while (places_[at].is_taken && places_[at].handle != handle) at = (at + 1) & (places_.size() - 1);
    return at;
  }
  void grow();
  void remove(std::size_t hole);

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
  ~Completing() {
    if (count_ > 0) remembered.set_asked(before_, now_, count_, false);
  }
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;

  /// Where the host is to write statuses: the program may want none.
  MPI_Status* statuses() { return told_; }
  /// The host has completed the i-th; its status is the at-th. Returns a code of MPI.
  int completed(int i, int at);
  /// The host has completed all; its code.
  int completed_all(int of_host);

 private:
  static constexpr int few = 32;
  const char* const function_;
  int count_ = 0;  ///< of what is remembered
  MPI_Request few_before_[few];
  MPI_Status few_own_[few];
  std::vector<MPI_Request> many_before_;
  std::vector<MPI_Status> many_own_;
  MPI_Request* before_ = few_before_;
  const MPI_Request* now_ = nullptr;
  MPI_Status* told_;
};

}  // namespace tutti::mpi
