#include "simulation/network.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tutti::simulated {

namespace {

/// More bytes are not moved in truth.
constexpr std::size_t moved_max = std::size_t{64} << 10;

}  // namespace

Network::Network(Timed& timed, const network::Nodes& nodes, const network::Parameters& parameters)
    : timed_(timed),
      nodes_(nodes),
      with_(parameters),
      out_(static_cast<std::size_t>(nodes.count())),
      in_(out_),
      rank_out_(static_cast<std::size_t>(nodes.ranks())),
      boxes_(static_cast<std::size_t>(nodes.ranks())) {}

void Network::carry(const std::shared_ptr<End>& send, int to) {
  ++messages_;
  const double takes = std::max(static_cast<double>(send->bytes) * with_.between_byte, 1 / with_.message_rate);
  double& own = rank_out_[static_cast<std::size_t>(send->rank)];
  double& out = out_[static_cast<std::size_t>(nodes_.node_of(send->rank))];
  const double begin = std::max({timed_.seconds(), own, out});
  own = begin + timed_.parameters().card;
  out = send->over_at = begin + takes;
  const double there = begin + with_.between_start;
  timed_.at(there, [this, send, there, takes, node = static_cast<std::size_t>(nodes_.node_of(to))] {
    send->arrives_at = in_[node] = std::max(there, in_[node]) + takes;
    if (send->receive) is_over(*send->receive, send->arrives_at);
  });
}

void Network::is_over(End& receive, double at) {
  receive.over_at = at;
  receive.is_awaited = true;
  timed_.wake_at(receive.rank, at);
}

network::Ticket SimulatedChannel::post_send(const network::Address& to, const std::byte* data, std::size_t bytes) {
  const auto end = std::make_shared<End>(End{rank_, true, const_cast<std::byte*>(data), bytes});
  network_.timed_.in_order();
  const double begin = network_.timed_.seconds();
  network_.timed_.spend(network_.timed_.parameters().message);
  network_.carry(end, to.peer);
  network_.timed_.noted(Span::Kind::message, begin, bytes, to.peer);
  return post(to.peer, {rank_, to.operation, to.step, to.lane}, end);
}

network::Ticket SimulatedChannel::post_receive(const network::Address& from, std::byte* data, std::size_t bytes) {
  network_.timed_.in_order();
  return post(rank_, from, std::make_shared<End>(End{rank_, false, data, bytes}));
}

network::Ticket SimulatedChannel::post(int receiver, const network::Address& address, const std::shared_ptr<End>& end) {
  Timed& timed = network_.timed_;
  auto& box = network_.boxes_[static_cast<std::size_t>(receiver)];
  const auto [found, is_first] = box.try_emplace(address, end);
  if (is_first) {
    if (end->is_send && end->bytes > 0 && end->bytes <= moved_max) end->kept.assign(end->data, end->data + end->bytes);
  } else {
    const std::shared_ptr<End> other = found->second;
    if (other->is_send == end->is_send || other->bytes != end->bytes)
      throw std::logic_error("a message has no other end");
    End& send = end->is_send ? *end : *other;
    send.receive = end->is_send ? other : end;
    if (send.bytes > 0 && send.bytes <= moved_max)
      std::memcpy(send.receive->data, end->is_send ? send.data : send.kept.data(), send.bytes);
    if (send.arrives_at >= 0) network_.is_over(*send.receive, std::max(timed.seconds(), send.arrives_at));
    box.erase(found);
  }
  posted_.emplace(++last_, end);
  return last_;
}

bool SimulatedChannel::test(network::Ticket& ticket) {
  if (ticket == 0) return true;
  Timed& timed = network_.timed_;
  timed.in_order();
  const auto found = posted_.find(ticket);
  End& end = *found->second;
  if (end.over_at < 0) return false;
  if (end.over_at > timed.seconds()) {
    if (!std::exchange(end.is_awaited, true)) timed.wake_at(rank_, end.over_at);
    return false;
  }
  if (!end.is_send) timed.received(end.data, end.bytes);
  posted_.erase(found);
  ticket = 0;
  return true;
}

void SimulatedChannel::withdraw(network::Ticket& ticket) {
  posted_.erase(ticket);
  ticket = 0;
}

}  // namespace tutti::simulated
