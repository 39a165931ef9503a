// A channel that counts what goes through it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network/channel.h"

namespace tutti::network {

/// What one rank has sent and received.
struct Traffic {
  std::uint64_t sent = 0, received = 0;              ///< messages
  std::uint64_t sent_bytes = 0, received_bytes = 0;  ///< of these
  /// Steps, as far as this rank has seen them: of each operation the highest that it had a message in, and one.
  std::uint64_t rounds = 0;
};

class CountedChannel final : public Channel {
 public:
  explicit CountedChannel(Channel& channel) : channel_(channel) {}

  const Traffic& traffic() const { return traffic_; }

  Ticket post_send(const Address& to, const std::byte* data, std::size_t bytes) override {
    ++traffic_.sent;
    traffic_.sent_bytes += bytes;
    count_round(to);
    return channel_.post_send(to, data, bytes);
  }
  Ticket post_receive(const Address& from, std::byte* data, std::size_t bytes) override {
    ++traffic_.received;
    traffic_.received_bytes += bytes;
    count_round(from);
    return channel_.post_receive(from, data, bytes);
  }
  bool test(Ticket& ticket) override { return channel_.test(ticket); }
  void withdraw(Ticket& ticket) override { channel_.withdraw(ticket); }

 private:
  void count_round(const Address& address) {
    const auto rounds = static_cast<std::uint64_t>(address.step) + 1;
    if (address.operation != operation_) {
      operation_ = address.operation;
      of_operation_ = 0;
    }
    if (rounds <= of_operation_) return;
    traffic_.rounds += rounds - of_operation_;
    of_operation_ = rounds;
  }

  Channel& channel_;
  Traffic traffic_;
  std::uint64_t operation_ = 0;
  std::uint64_t of_operation_ = 0;  ///< rounds of that
};

}  // namespace tutti::network
