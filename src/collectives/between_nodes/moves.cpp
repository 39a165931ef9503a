#include "collectives/between_nodes/moves.h"

namespace tutti {

Task gather_by_bruck(Operation&, Crossing& crossing, std::byte* area, const Starts& starts, int first_step) {
  const int nodes = crossing.nodes.count();
  const int rounds = network::rounds_of(nodes, crossing.lanes);
  // Of the nodes at distances [at, at + count) from `node`.
  const auto begin = [&](int node, int at) {
    return at >= nodes ? starts.back() : turned(starts, (node + at) % nodes, node);
  };
  const auto bytes = [&](int node, int at, int count) { return begin(node, at + count) - begin(node, at); };
  for (int round = 0; round < rounds; ++round) {
    for (int lane = crossing.place; lane < crossing.lanes; lane += crossing.places) {
      const network::BruckLane part = network::bruck_lane(nodes, crossing.lanes, crossing.node, round, lane);
      if (part.count == 0) continue;
      crossing.receive(part.from, lane, first_step + round, area + begin(crossing.node, part.at),
                       bytes(crossing.node, part.at, part.count));
      crossing.send(part.to, lane, first_step + round, area, bytes(crossing.node, 0, part.count));
    }
    co_await crossing.over();
    co_await crossing.together();
  }
}

Task ring(Operation&, Crossing& crossing, RingMessages& messages, const Starts& starts, int first_step,
          int announced_before) {
  const int nodes = crossing.nodes.count();
  const int before = (crossing.node + nodes - 1) % nodes;
  const int behind = (crossing.node + 1) % nodes;
  for (int step = 1; step < nodes; ++step) {
    const int sent = part_of_step(crossing, step - 1);
    const int received = part_of_step(crossing, step);
    for (int lane = crossing.place; lane < crossing.lanes; lane += crossing.places) {
      crossing.receive(before, lane, first_step + step - 1, messages.to_receive(received, lane),
                       lane_share(bytes_at(starts, received), lane, crossing.lanes).length());
      crossing.send(behind, lane, first_step + step - 1, messages.to_send(sent, lane),
                    lane_share(bytes_at(starts, sent), lane, crossing.lanes).length());
    }
    co_await crossing.received();
    for (int lane = crossing.place; lane < crossing.lanes; lane += crossing.places) messages.received(received, lane);
    crossing.announce(announced_before + step);
  }
  co_await crossing.over();
}

Task fetch_shares(Operation& operation, Crossing& crossing, RingShares& shares, int from_step, int announced_before) {
  for (int step = from_step; step < crossing.nodes.count(); ++step)
    for (int distance = 1; distance < crossing.places; ++distance) {
      const int from = (crossing.place + distance) % crossing.places;
      co_await crossing.announced(from, announced_before + step);
      shares.fetch(from, part_of_step(crossing, step));
    }
  co_await operation.copied();
}

Task scatter_along_tree(Operation&, RootedCrossing& crossing, NodeParts parts, int first_step, int announced) {
  const network::TreePlace& tree = crossing.tree;
  if (tree.parent) {
    const network::Branch& from = *tree.parent;
    if (crossing.serves(from.lane)) {
      crossing.receive(from.node, from.lane, first_step + from.round, parts.at(static_cast<int>(from.nodes.begin)),
                       parts.bytes(from.nodes));
      co_await crossing.received();
      crossing.announce(announced);
    } else {
      co_await crossing.announced(from.lane % crossing.places, announced);
    }
  }
  for (const network::Branch& to : tree.children)
    if (crossing.serves(to.lane))
      crossing.send(to.node, to.lane, first_step + to.round, parts.at(static_cast<int>(to.nodes.begin)),
                    parts.bytes(to.nodes));
}

Task gather_along_tree(Operation&, RootedCrossing& crossing, NodeParts parts, int first_step) {
  const network::TreePlace& tree = crossing.tree;
  const int last = network::rounds_of(crossing.nodes.count(), crossing.lanes) - 1;
  for (const network::Branch& from : tree.children)
    if (crossing.serves(from.lane))
      crossing.receive(from.node, from.lane, first_step + last - from.round,
                       parts.at(static_cast<int>(from.nodes.begin)), parts.bytes(from.nodes));
  co_await crossing.received();
  co_await crossing.together();
  if (tree.parent && crossing.serves(tree.parent->lane))
    crossing.send(tree.parent->node, tree.parent->lane, first_step + last - tree.parent->round,
                  parts.at(static_cast<int>(tree.nodes.begin)), parts.bytes(tree.nodes));
}

Task room_for_slice(Operation&, Crossing& crossing, int slice, std::size_t bytes) {
  if (slice == 0) {
    crossing.lend_more(bytes);
    co_await crossing.lent_more();
  } else {
    co_await crossing.over();
    co_await crossing.together();
  }
}

}  // namespace tutti
