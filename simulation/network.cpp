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

double Network::carry(int from, int to, std::size_t bytes, double& left) {
  ++messages_;
  const double takes = std::max(static_cast<double>(bytes) * with_.between_byte, 1 / with_.message_rate);
  double& own = rank_out_[static_cast<std::size_t>(from)];
  double& out = out_[static_cast<std::size_t>(nodes_.node_of(from))];
  double& in = in_[static_cast<std::size_t>(nodes_.node_of(to))];
  const double begin = std::max({timed_.seconds(), own, out});
  own = begin + timed_.parameters().card;
  out = left = begin + takes;
  const double arrives = std::max(begin + with_.between_start, in);
  in = arrives + takes;
  return in;
}

network::Ticket SimulatedChannel::post_send(const network::Address& to, const std::byte* data, std::size_t bytes) {
  const auto end = std::make_shared<End>(End{rank_, true, const_cast<std::byte*>(data), bytes});
  network_.timed_.in_order();
  const double begin = network_.timed_.seconds();
  network_.timed_.spend(network_.timed_.parameters().message);
  end->arrives_at = network_.carry(rank_, to.peer, bytes, end->over_at);
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
    End &send = end->is_send ? *end : *other, &receive = end->is_send ? *other : *end;
    if (send.bytes > 0 && send.bytes <= moved_max)
      std::memcpy(receive.data, end->is_send ? send.data : send.kept.data(), send.bytes);
    receive.over_at = std::max(timed.seconds(), send.arrives_at);
    receive.is_awaited = true;
    timed.wake_at(receive.rank, receive.over_at);
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
