// Messages of nothing from a rank to itself. What completes a persistent collective is one: its handle is the persistent
// receive of it, so that hosts take it wherever they take a request.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "mpi/host.h"

namespace tutti::mpi {

/// Which message: no two handles that are there have the same.
struct SelfMessage {
  MPI_Comm communicator = MPI_COMM_NULL;
  int tag = 0;
};

class SelfMessages {
 public:
  /// A persistent receive, not started. Returns a code of the host.
  int receive(SelfMessage& message, MPI_Request* handle);
  /// After the receive was started.
  static void send(const SelfMessage& message) {
    host.Send(nullptr, 0, MPI_BYTE, 0, message.tag, message.communicator);
  }
  /// The receive is freed, or will be: it is not under way.
  void give_back(const SelfMessage& message);
  /// Inside MPI_Finalize.
  void end();

 private:
  std::mutex mutex_;
  std::vector<MPI_Comm> communicators_;  ///< duplicates of MPI_COMM_SELF
  int next_tag_ = 0;                     ///< of the last one
  std::vector<SelfMessage> unused_;
};

}  // namespace tutti::mpi
