// Messages between nodes in time: what a message costs the cores of sender and receiver, how soon a rank can send the next
// one, the rate and the bandwidth of both nodes' cards, and the way. A card serves who comes first: on the way out who is
// posted first, on the way in who is there first.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "network/channel.h"
#include "network/cost.h"
#include "network/nodes.h"
#include "simulation/timed.h"

namespace tutti::simulated {

class Network {
 public:
  Network(Timed& timed, const network::Nodes& nodes, const network::Parameters& parameters);
  std::uint64_t messages() const { return messages_; }

 private:
  friend class SimulatedChannel;
  struct End {
    int rank;
    bool is_send;
    std::byte* data;
    std::size_t bytes;
    double over_at = -1;                ///< -1: not known yet
    double arrives_at = -1;             ///< of a send, the same
    std::shared_ptr<End> receive = {};  ///< of a send
    bool is_awaited = false;            ///< whoever waits for it looks when it is over
    std::vector<std::byte> kept = {};   ///< what was sent before the receiver came
  };
  /// It has left at its over_at, and is there when it knows.
  void carry(const std::shared_ptr<End>& send, int to);
  void is_over(End& receive, double at);

  Timed& timed_;
  const network::Nodes& nodes_;
  const network::Parameters with_;
  std::vector<double> out_, in_, rank_out_;
  std::vector<std::map<network::Address, std::shared_ptr<End>>> boxes_;
  std::uint64_t messages_ = 0;
};

class SimulatedChannel final : public network::Channel {
 public:
  SimulatedChannel(Network& network, int rank) : network_(network), rank_(rank) {}
  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override;
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override;
  bool test(network::Ticket& ticket) override;
  void withdraw(network::Ticket& ticket) override;

 private:
  using End = Network::End;
  network::Ticket post(int receiver, const network::Address& address, const std::shared_ptr<End>& end);

  Network& network_;
  const int rank_;
  network::Ticket last_ = 0;
  std::map<network::Ticket, std::shared_ptr<End>> posted_;
};

}  // namespace tutti::simulated
