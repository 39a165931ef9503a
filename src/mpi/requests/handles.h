// What stands for a collective of ours in the program's hands: a request of the host, so that hosts take it wherever they take
// one. It is a persistent receive of nothing from the rank itself, inactive until the host has to be asked about it, and used
// again when its collective is over (docs/decisions/nonblocking.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "mpi/host.h"
#include "mpi/requests/handle_table.h"

namespace tutti::mpi {

class Request;

/// MPICH 5 cancels a send that has not ended only if its request is the first of its pool, and ends the process else. A request
/// that is kept is made while this lives: so the first one stays the program's, as it is without us. It is not one of
/// MPI_PROC_NULL: of that Intel MPI 2021 leaves something in the place, by which it never starts what comes there next.
class FirstRequest {
 public:
  FirstRequest() { host.Recv_init(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request_); }
  ~FirstRequest() {
    if (request_ != MPI_REQUEST_NULL) host.Request_free(&request_);
  }
  FirstRequest(const FirstRequest&) = delete;
  FirstRequest& operator=(const FirstRequest&) = delete;

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

struct Handle {
  MPI_Request request{};
  MPI_Comm communicator = MPI_COMM_NULL;  ///< of the message that completes it
  int tag = 0;
  Request* of = nullptr;  ///< null: nobody has it

  /// From now on the host takes it for active.
  void start() { host.Start(&request); }
  /// It is complete, once it was started.
  void complete() const { host.Send(nullptr, 0, MPI_BYTE, 0, tag, communicator); }
  /// Until it is. It is inactive then.
  void wait() { host.Wait(&request, MPI_STATUS_IGNORE); }
};

class Handles {
 public:
  /// Inside MPI_Init. among_threads: threads of the program may call MPI at the same time.
  void set_up(bool among_threads);
  /// Whether the program has some.
  bool any() const { return given_.load(std::memory_order_relaxed) != 0; }
  /// One for `of`. Returns a code of the host.
  int take(Request& of, Handle*& taken);
  /// The program has it no more, and it is inactive.
  void give_back(Handle& handle);
  /// Whose it is; null if it is none of ours.
  Request* find(MPI_Request request) const;
  /// Inside MPI_Finalize.
  void end();

 private:
  std::unique_lock<std::mutex> lock() const {
    return shared_ ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }
  int make();
  int make_communicator();

  bool shared_ = true;
  mutable std::mutex mutex_;
  std::deque<Handle> all_;
  HandleTable<Handle> known_;
  std::vector<Handle*> unused_;
  std::vector<MPI_Comm> communicators_;  ///< of this rank alone
  int next_tag_ = 0;                     ///< of the last one
  std::atomic<std::size_t> given_{0};    ///< written under the lock
};

}  // namespace tutti::mpi
