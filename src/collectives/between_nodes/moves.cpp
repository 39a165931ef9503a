#include "collectives/between_nodes/moves.h"

namespace tutti {

Task gather_by_bruck(Operation& operation, Crossing& crossing, std::byte* area, const Starts& starts) {
  // Of the nodes at distances [at, at + count) from `node`.
  const auto begin = [&crossing, &starts](int node, int at) {
    const int nodes = crossing.nodes.count();
    return at >= nodes ? starts.back() : turned(starts, (node + at) % nodes, node);
  };
  return bruck_rounds(
      operation, crossing, [&crossing, area, begin](const network::BruckLane& part, int lane, int round) {
        const auto bytes = [&](int at) { return begin(crossing.node, at + part.count) - begin(crossing.node, at); };
        crossing.receive(part.from, lane, round, area + begin(crossing.node, part.at), bytes(part.at));
        crossing.send(part.to, lane, round, area, bytes(0));
      });
}

namespace {

/// Which part came with a step of the ring, the first being step 1; 0: the own one.
int part_of_step(const Crossing& crossing, int step) {
  return ((crossing.node - step) % crossing.nodes.count() + crossing.nodes.count()) % crossing.nodes.count();
}

Task send_around(Operation&, Crossing& crossing, RingShares& shares, const Starts& starts, RingSteps steps) {
  const int nodes = crossing.nodes.count();
  const int before = (crossing.node + nodes - 1) % nodes;
  const int behind = (crossing.node + 1) % nodes;
  for (int step = 1; step < nodes; ++step) {
    const int sent = part_of_step(crossing, step - 1);
    const int received = part_of_step(crossing, step);
    for (int lane = crossing.place; lane < crossing.lanes; lane += crossing.places) {
      crossing.receive(before, lane, steps.first + step - 1, shares.to_receive(received, lane),
                       lane_share(bytes_at(starts, received), lane, crossing.lanes).length());
      crossing.send(behind, lane, steps.first + step - 1, shares.to_send(sent, lane),
                    lane_share(bytes_at(starts, sent), lane, crossing.lanes).length());
    }
    co_await crossing.received();
    for (int lane = crossing.place; lane < crossing.lanes; lane += crossing.places) shares.received(received, lane);
    crossing.announce(steps.announced + step);
  }
  co_await crossing.over();
}

Task fetch_shares(Operation& operation, Crossing& crossing, RingShares& shares, RingSteps steps) {
  for (int step = steps.fetched; step < crossing.nodes.count(); ++step)
    for (int distance = 0; distance < crossing.places; ++distance) {
      const int from = (crossing.place + distance) % crossing.places;
      co_await crossing.announced(from, steps.announced + step);
      shares.fetch(from, part_of_step(crossing, step));
    }
  co_await operation.copied();
}

}  // namespace

Operation::Both around_ring(Operation& operation, Crossing& crossing, RingShares& shares, const Starts& starts,
                            RingSteps steps) {
  return operation.both(send_around(operation, crossing, shares, starts, steps),
                        fetch_shares(operation, crossing, shares, steps));
}

Task scatter_along_tree(Operation&, RootedCrossing& crossing, NodeParts parts, int first_step, int announced) {
  const network::TreePlace& tree = crossing.tree;
  if (tree.parent) {
    const network::Branch& from = *tree.parent;
    if (crossing.serves(from.lane)) {
      crossing.receive_down(from, first_step, parts.at(from.nodes), parts.bytes(from.nodes));
      co_await crossing.received();
      crossing.announce(announced);
    } else {
      co_await crossing.announced(from.lane % crossing.places, announced);
    }
  }
  for (const network::Branch& to : tree.children)
    crossing.send_down(to, first_step, parts.at(to.nodes), parts.bytes(to.nodes));
}

void receive_from_children(RootedCrossing& crossing, NodeParts parts, int first_step) {
  for (const network::Branch& from : crossing.tree.children)
    crossing.receive_up(from, first_step, parts.at(from.nodes), parts.bytes(from.nodes));
}

Task gather_along_tree(Operation&, RootedCrossing& crossing, NodeParts parts, int first_step) {
  receive_from_children(crossing, parts, first_step);
  co_await crossing.received();
  co_await crossing.together();
  const network::TreePlace& tree = crossing.tree;
  if (tree.parent) crossing.send_up(*tree.parent, first_step, parts.at(tree.nodes), parts.bytes(tree.nodes));
}

}  // namespace tutti
