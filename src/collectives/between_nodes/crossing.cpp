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

void Crossing::lend(std::size_t bytes) {
  lent_bytes_ = bytes;
  if (place == owner) post(operation_, staging_buffer(operation_, Side::source, bytes), {});
}

std::byte* Crossing::area() const {
  return operation_.communicator().peer(owner).pointer(posted_source(operation_, owner), 0, lent_bytes_);
}

void Crossing::lend_more(std::size_t bytes) {
  more_bytes_ = bytes;
  if (place != owner) return;
  // The other region is being read.
  Post& post = operation_.own().post;
  post.regions.destination = staging_buffer(operation_, Side::destination, bytes).region.bits();
  operation_.publish(post.flag, 1);
}

std::byte* Crossing::more() const {
  return operation_.communicator().peer(owner).pointer(posted_destination(operation_, owner), 0, more_bytes_);
}

/// On all nodes the operations of a communicator have the same numbers, since each is one of all ranks. Those of its two
/// channels are told apart by the last bit.
network::Address Crossing::address(int rank, int step, int lane) const {
  const bool pending = operation_.channel().kind() == Channel::Kind::pending;
  return {rank, operation_.sequence() << 1 | (pending ? 1u : 0u), step, lane};
}

void Crossing::send(int to_node, int lane, int step, const std::byte* data, std::size_t bytes) {
  if (bytes > 0) post_send(of_server(to_node, lane, step), data, bytes);
}

void Crossing::receive(int from_node, int lane, int step, std::byte* data, std::size_t bytes) {
  if (bytes > 0) post_receive(of_server(from_node, lane, step), data, bytes);
}

void Crossing::send_to(int rank, int step, const std::byte* data, std::size_t bytes) {
  if (bytes > 0) post_send(address(rank, step, 0), data, bytes);
}

void Crossing::receive_from(int rank, int step, std::byte* data, std::size_t bytes) {
  if (bytes > 0) post_receive(address(rank, step, 0), data, bytes);
}

void Crossing::signal(int to_node, int lane, int step) {
  post_send(of_server(to_node, lane, step), nullptr, 0);
}

void Crossing::expect_signal(int from_node, int lane, int step) {
  post_receive(of_server(from_node, lane, step), nullptr, 0);
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
