#include "collectives/between_nodes/crossing.h"

#include "collectives/common/buffers/exposure.h"

namespace tutti {

Crossing::Crossing(Operation& operation)
    : nodes(operation.call().spanning->nodes),
      self(operation.call().spanning->rank),
      node(nodes.node_of(self)),
      place(nodes.place_of(self)),
      places(nodes.places(node)),
      lanes(nodes.most_places()),
      operation_(operation),
      channel_(operation.call().spanning->channel),
      memory_(operation) {}

Crossing::~Crossing() {
  for (auto* tickets : {&sends_, &receives_})
    for (network::Ticket& ticket : *tickets)
      if (ticket) channel_.withdraw(ticket);
}

RootedCrossing::RootedCrossing(Operation& operation, int root, Owner of_others)
    : Crossing(operation),
      is_root(self == root),
      at_root(node == nodes.node_of(root)),
      tree(network::tree_place(nodes.count(), lanes, nodes.node_of(root), node, memory())) {
  if (at_root)
    owner = nodes.place_of(root);
  else if (of_others == Owner::receiver)
    owner = tree.parent->lane % places;
}

void Crossing::lend_first(std::size_t bytes) {
  post(operation_, staging_buffer(operation_, Side::source, bytes), {});
}

void Crossing::lend_second(std::size_t bytes) {
  // The other region is being read.
  Post& post = operation_.own().post;
  post.regions.destination = staging_buffer(operation_, Side::destination, bytes).region.bits();
  operation_.publish(post.flag, 1);
}

std::byte* Crossing::lent(Side side, std::size_t bytes) const {
  const memory::Region region =
      side == Side::source ? posted_source(operation_, owner) : posted_destination(operation_, owner);
  return operation_.communicator().peer(owner).pointer(region, 0, bytes);
}

/// On all nodes the operations of a communicator have the same numbers, since each is one of all ranks. Those of its two
/// channels are told apart by the last bit.
network::Address Crossing::address(int rank, int step, int lane) const {
  const bool pending = operation_.channel().kind() == Channel::Kind::pending;
  return {rank, operation_.sequence() << 1 | (pending ? 1u : 0u), step, lane};
}

void Crossing::post_send(const network::Address& to, const std::byte* data, std::size_t bytes) {
  sends_.push_back(channel_.post_send(to, data, bytes));
}

void Crossing::post_receive(const network::Address& from, std::byte* data, std::size_t bytes) {
  receives_.push_back(channel_.post_receive(from, data, bytes));
}

bool Crossing::all_over(std::pmr::vector<network::Ticket>& tickets) {
  while (!tickets.empty()) {
    if (!channel_.test(tickets.back())) return false;
    tickets.pop_back();
  }
  return true;
}

void Crossing::arrive() {
  operation_.publish(phases, ++phase_);
}

bool Crossing::all_at(int& at) const {
  for (; at != place; at = at + 1 == places ? 0 : at + 1) {
    if (!operation_.slot(at).flags[phases].has(operation_.stamp(phase_))) return false;
    operation_.check(at);
  }
  return true;
}

Task leave(Operation& operation, Crossing& crossing) {
  co_await crossing.over();
  if (crossing.place == crossing.owner)
    co_await operation.others_done();
  else
    operation.publish_done();
}

Task leave_together(Operation& operation, Crossing& crossing) {
  co_await crossing.over();
  operation.publish_done();
  co_await operation.others_done();
}

}  // namespace tutti
