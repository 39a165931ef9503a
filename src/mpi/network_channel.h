// The channel between nodes over the MPI's own messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/mpi_header.h"
#include "network/channel.h"
#include "network/cost.h"

namespace tutti::mpi {

/// What the channel calls: the host's own functions.
struct PointToPoint {
  decltype(&::PMPI_Isend) isend = nullptr;
  decltype(&::PMPI_Irecv) irecv = nullptr;
  decltype(&::PMPI_Test) test = nullptr;
  decltype(&::PMPI_Cancel) cancel = nullptr;
  decltype(&::PMPI_Request_free) request_free = nullptr;
  decltype(&::PMPI_Wait) wait = nullptr;
  decltype(&::PMPI_Error_class) error_class = nullptr;
};

/// What a channel has of the tags of its communicator: operation, step and lane are in a tag as far as they go. Messages
/// between two ranks whose tags come out equal have to be posted in the same order on both.
struct Tags {
  long long first = 0;
  long long operations = 1;    ///< that may be under way at a time
  long long of_operation = 1;  ///< tags of each

  /// All of them, for 64 operations. tag_max: MPI_TAG_UB.
  static Tags all(int tag_max) { return {0, 64, (tag_max + 1ll) / 64}; }
};

/// What the host sends without asking the receiver first.
struct Unasked {
  std::size_t bytes = 0;   ///< of the longest such message; 0: not known
  std::size_t pieces = 1;  ///< as at most so many of them longer messages are sent
};

/// As far as it is known. lanes: on which messages are sent at once.
inline Unasked unasked_of(const network::Parameters& network, int lanes) {
  return {static_cast<std::size_t>(network.unasked_bytes),
          static_cast<std::size_t>(network.pieces_instead_of_asking(lanes))};
}

class NetworkChannel : public network::Channel {
 public:
  /// communicator: nobody else sends on it with these tags, or who does has other operations under way; its errors return,
  /// and its ranks are those of the addresses. lanes: of all addresses, at most.
  NetworkChannel(MPI_Comm communicator, const PointToPoint& calls, int lanes, const Tags& tags,
                 const Unasked& unasked = {})
      : communicator_(communicator), calls_(calls), lanes_(lanes), tags_(tags), unasked_(unasked) {}

  /// All three throw network::Failure if the host has reported an error: with its code, and as kind the class of that. Then
  /// nothing of the message is posted any more.
  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override;
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override;
  bool test(network::Ticket& ticket) override;
  /// A send cannot be taken back for sure: the host may still read the bytes, which have to stay readable.
  void withdraw(network::Ticket& ticket) override;

  /// Where messages for a rank of the addresses go, and those of one come from.
  struct Route {
    MPI_Comm communicator;
    int rank;  ///< in it
    Tags tags;
  };
  int tag_of(const network::Address& address, const Tags& tags) const;
  int tag_of(const network::Address& address) const { return tag_of(address, tags_); }

 protected:
  virtual Route route_to(int peer) const { return {communicator_, peer, tags_}; }
  virtual Route route_from(int peer) const { return {communicator_, peer, tags_}; }

 private:
  /// A message of so many bytes goes as several of at most this.
  std::size_t piece_of(std::size_t bytes) const;

  /// Most messages are one for the host, too, and take no memory of their own.
  struct Message {
    network::Ticket ticket = 0;  ///< 0: there is none
    bool is_send = false;
    MPI_Request single = MPI_REQUEST_NULL;
    std::vector<MPI_Request> pieces;  ///< if there are several, instead

    std::span<MPI_Request> requests() { return pieces.empty() ? std::span(&single, 1) : std::span(pieces); }
  };
  /// Its number is in the lower half of the ticket.
  Message* find(network::Ticket ticket);
  Message& make(bool is_send, std::size_t pieces);
  void forget(Message& message);
  void withdraw(Message& message);
  [[noreturn]] void fail(Message& message, const char* function, int code);
  /// post(data, count, request): posts a piece.
  template <class Byte, class Post>
  network::Ticket post_pieces(bool is_send, Byte* data, std::size_t bytes, const char* function, const Post& post);

  const MPI_Comm communicator_;
  const PointToPoint calls_;
  const int lanes_;
  const Tags tags_;
  const Unasked unasked_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_;  ///< numbers of those that there are none of
  std::uint32_t made_ = 0;           ///< messages so far: tells tickets with one number apart
};

}  // namespace tutti::mpi
