// The channel between nodes over the MPI's own messages.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi/mpi_header.h"
#include "network/channel.h"

namespace tutti::mpi {

/// What the channel calls: the host's own functions.
struct PointToPoint {
  decltype(&::PMPI_Isend) isend = nullptr;
  decltype(&::PMPI_Irecv) irecv = nullptr;
  decltype(&::PMPI_Testall) testall = nullptr;
  decltype(&::PMPI_Cancel) cancel = nullptr;
  decltype(&::PMPI_Request_free) request_free = nullptr;
  decltype(&::PMPI_Wait) wait = nullptr;
};

/// The host has reported an error: its code, for the call that the message belongs to.
class NetworkError : public std::runtime_error {
 public:
  NetworkError(const char* function, int error)
      : std::runtime_error(std::string(function) + " has failed with code " + std::to_string(error)), code(error) {}
  const int code;
};

class NetworkChannel final : public network::Channel {
 public:
  /// communicator: nobody else sends on it, its errors return, and its ranks are those of the addresses. lanes: of all
  /// addresses, at most. tag_max: MPI_TAG_UB.
  ///
  /// A tag has the operation, step and lane in it as far as they go: at least 64 operations may be under way, and
  /// messages between two ranks whose tags come out equal have to be posted in the same order on both.
  NetworkChannel(MPI_Comm communicator, const PointToPoint& calls, int lanes, int tag_max)
      : communicator_(communicator), calls_(calls), lanes_(lanes), steps_tags_((tag_max + 1ll) / operations) {}

  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override;
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override;
  /// Throws NetworkError.
  bool test(network::Ticket& ticket) override;
  /// A send cannot be taken back for sure: the host may still read the bytes, which have to stay readable.
  void withdraw(network::Ticket& ticket) override;

  int tag_of(const network::Address& address) const;

 private:
  static constexpr int operations = 64;
  /// Longer messages go as several, since counts are numbers of type int.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 30;

  struct Message {
    bool is_send;
    std::vector<MPI_Request> requests;
  };
  network::Ticket keep(Message message);

  const MPI_Comm communicator_;
  const PointToPoint calls_;
  const int lanes_;
  const long long steps_tags_;
  network::Ticket last_ = 0;
  std::unordered_map<network::Ticket, Message> messages_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace tutti::mpi
