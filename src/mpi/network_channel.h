// The channel between nodes over the MPI's own messages.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi/mpi_header.h"
#include "network/channel.h"
#include "network/tag_ranges.h"

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

/// The other end of messages: which rank it is, and the first of the tags by which it receives.
struct End {
  int rank = 0;
  int first_tag = 0;
};

class NetworkChannel final : public network::Channel {
 public:
  /// communicator: its errors return. ends: of the ranks of the addresses, this one's at `self`; they outlive this. Nobody
  /// else sends to a rank with the network::TagRanges::tags that begin with its first, or who does has other operations
  /// under way. unasked_bytes: of the longest message that the host sends without asking the receiver first; 0: not known.
  NetworkChannel(MPI_Comm communicator, const PointToPoint& calls, const std::vector<End>& ends, int self,
                 std::size_t unasked_bytes = 0)
      : communicator_(communicator),
        calls_(calls),
        ends_(ends),
        own_first_tag_(end(self).first_tag),
        unasked_bytes_(unasked_bytes) {}

  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override;
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override;
  /// Throws NetworkError.
  bool test(network::Ticket& ticket) override;
  /// A send cannot be taken back for sure: the host may still read the bytes, which have to stay readable.
  void withdraw(network::Ticket& ticket) override;

  /// Whether it has posted anything.
  bool is_used() const { return last_ != 0; }
  /// Of some message it is not known whether it has come, or will.
  bool has_lost() const { return has_lost_; }

 private:
  const End& end(int rank) const { return ends_[static_cast<std::size_t>(rank)]; }
  /// Messages of one operation between two ranks are posted in the same order at both ends, and so are operations that
  /// have the same tags: nodes have no more than a ring of slots under way (engine/shared.h).
  static int tag_of(int first_tag, const network::Address& address) {
    return first_tag + static_cast<int>(address.operation % network::TagRanges::tags);
  }
  /// A message of so many bytes goes as several of at most this.
  std::size_t piece_of(std::size_t bytes) const;

  struct Message {
    bool is_send;
    std::vector<MPI_Request> requests;
  };
  network::Ticket keep(Message message);

  const MPI_Comm communicator_;
  const PointToPoint calls_;
  const std::vector<End>& ends_;
  const int own_first_tag_;
  const std::size_t unasked_bytes_;
  bool has_lost_ = false;
  network::Ticket last_ = 0;
  std::unordered_map<network::Ticket, Message> messages_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace tutti::mpi
