// Messages between the ranks of a communicator that share no memory. An interface: the core posts and asks, who carries
// the messages is somebody else's business.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace tutti::network {

/// Which message: the other end, the operation that it belongs to, and its step there. A send is matched by the receive
/// with the same operation, step and lane on the rank that it is for. Between two ranks there is at most one message each
/// way of these, and both post those of an operation in the same order: a network may tell messages apart by that alone.
struct Address {
  int peer = 0;  ///< rank of the communicator
  std::uint64_t operation = 0;
  int step = 0;
  int lane = 0;  ///< multi_object.h

  friend auto operator<=>(const Address&, const Address&) = default;
};

/// A message that was posted and is not over. 0: there is none, or it is over.
using Ticket = std::uint64_t;

/// Of one rank, and of one thread at a time.
class Channel {
 public:
  virtual ~Channel() = default;

  /// The bytes may not be written before test() has said that the message is over. That may be only after it was
  /// received.
  virtual Ticket post_send(const Address& to, const std::byte* data, std::size_t bytes) = 0;
  /// The bytes may not be touched before that. bytes: what the sender sends, exactly.
  virtual Ticket post_receive(const Address& from, std::byte* data, std::size_t bytes) = 0;
  /// Whether the message is over: then `ticket` becomes 0. Of 0 it is true. Throws if the network has failed.
  virtual bool test(Ticket& ticket) = 0;
  /// For an operation that ends early: afterwards nobody touches the bytes of the message. It may have been carried out.
  virtual void withdraw(Ticket& ticket) = 0;
};

}  // namespace tutti::network
