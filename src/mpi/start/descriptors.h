// How a rank gets a peer's memory descriptor: from /proc, or from the peer over a socket where /proc is closed to it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::mpi {

/// A peer's descriptor, opened through /proc/<process>/fd. -1 if the system refuses.
int open_descriptor_of(pid_t process, int descriptor);

/// A datagram socket in the abstract name space, named after the process. Descriptors go over it with SCM_RIGHTS.
class DescriptorSocket {
 public:
  DescriptorSocket();
  ~DescriptorSocket();
  DescriptorSocket(const DescriptorSocket&) = delete;
  DescriptorSocket& operator=(const DescriptorSocket&) = delete;
  bool usable() const { return socket_ >= 0; }

  struct Received {
    pid_t process = 0;
    int arena = -1;
    int window = -1;
  };
  /// Sends `arena` and `window` (-1: none) to every process in `peers` and receives the same from each. Ranks that are
  /// not heard of within `seconds` are missing in the result. The kernel vouches for the sender's credentials; a
  /// message of another user is dropped.
  std::vector<Received> exchange(const std::vector<pid_t>& peers, int arena, int window, double seconds);

 private:
  int socket_ = -1;
};

}  // namespace tutti::mpi
