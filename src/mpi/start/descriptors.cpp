#include "mpi/start/descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>

namespace tutti::mpi {

namespace {

/// An abstract address: no file, gone with the process.
socklen_t address_of(pid_t process, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tutti-%d-%d",
                                   static_cast<int>(getuid()), static_cast<int>(process));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

union ControlBuffer {
  char bytes[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(2 * sizeof(int))];
  cmsghdr align;
};

bool send_to(int socket, pid_t process, const int* descriptors, std::size_t count) {
  sockaddr_un address;
  const socklen_t length = address_of(process, address);
  char byte = static_cast<char>(count);
  iovec data{&byte, 1};
  ControlBuffer control{};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = length;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

bool receive_from(int socket, DescriptorSocket::Received& received) {
  char byte = 0;
  iovec data{&byte, 1};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return false;
  received = {};
  uid_t user = static_cast<uid_t>(-1);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials;
      std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
      received.process = credentials.pid;
      user = credentials.uid;
    } else if (header->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      int descriptors[2] = {-1, -1};
      std::memcpy(descriptors, CMSG_DATA(header), (count < 2 ? count : 2) * sizeof(int));
      received.arena = descriptors[0];
      received.window = descriptors[1];
    }
  }
  if (user == getuid()) return true;
  if (received.arena >= 0) close(received.arena);
  if (received.window >= 0) close(received.window);
  received = {};
  return true;
}

}  // namespace

int open_descriptor_of(pid_t process, int descriptor) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(process), descriptor);
  return open(path, O_RDWR | O_CLOEXEC);
}

DescriptorSocket::DescriptorSocket() {
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  sockaddr_un address;
  const socklen_t length = address_of(getpid(), address);
  const int on = 1;
  if (bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    close(socket_);
    socket_ = -1;
  }
}

DescriptorSocket::~DescriptorSocket() {
  if (socket_ >= 0) close(socket_);
}

std::vector<DescriptorSocket::Received> DescriptorSocket::exchange(const std::vector<pid_t>& peers, int arena,
                                                                   int window, double seconds) {
  const int descriptors[2] = {arena, window};
  const std::size_t count = window >= 0 ? 2 : 1;
  std::set<pid_t> to_send(peers.begin(), peers.end());
  std::set<pid_t> to_hear(peers.begin(), peers.end());
  std::vector<Received> all;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  // Queues are short, so that nobody may insist on sending before it receives.
  while ((!to_send.empty() || !to_hear.empty()) && std::chrono::steady_clock::now() < deadline) {
    for (auto it = to_send.begin(); it != to_send.end();)
      it = send_to(socket_, *it, descriptors, count) ? to_send.erase(it) : std::next(it);
    Received received;
    bool heard = false;
    while (receive_from(socket_, received)) {
      heard = true;
      if (to_hear.erase(received.process)) all.push_back(received);
    }
    if (!heard && !to_hear.empty()) {
      pollfd wait{socket_, POLLIN, 0};
      poll(&wait, 1, 1);
    }
  }
  return all;
}

}  // namespace tutti::mpi
