// Alltoall between nodes: one message for each two nodes, all ranks of a node at once.
//
// Phase 1: each rank copies its blocks into memory that the node shares, those for one node together. Phase 2: all that
// goes from one node to another is one message; each rank sends and receives those of its lanes, nodes in the order of
// their distance. Phase 3, meanwhile: each rank copies the blocks of its own node; then the others.
// Cost: alpha_e ceil((N - 1) / P) + P^2 n (N - 1) beta_e, where ranks that send for themselves would have P (N - 1)
// messages each; inside, N P n copied in by each rank, and out.
// Requires: blocks of the same size. In the spirit of PiP-MColl, which has no Alltoall.

#include <cmath>

#include "collectives/algorithm.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

/// What one node has for another: blocks by place of the sender, then of the receiver.
struct Between {
  const network::Nodes& nodes;
  std::size_t block;  ///< bytes

  std::size_t bytes(int from, int to) const {
    return static_cast<std::size_t>(nodes.places(from)) * static_cast<std::size_t>(nodes.places(to)) * block;
  }
  std::size_t at(int from_place, int to, int to_place) const {
    return (static_cast<std::size_t>(from_place) * static_cast<std::size_t>(nodes.places(to)) +
            static_cast<std::size_t>(to_place)) *
           block;
  }
};

Task direct_body(Operation& operation, const AlltoallArguments& arguments) {
  Crossing crossing(operation);
  const network::Nodes& nodes = crossing.nodes;
  const Between between{nodes, arguments.send.bytes};
  const Starts starts = starts_of_nodes(crossing, [&](int node) { return between.bytes(crossing.node, node); });
  const std::size_t half = whole_lines(starts.back());
  std::byte* const area = co_await crossing.lend(2 * half);
  const NodeParts to_go{area, &starts}, to_come{area + half, &starts};
  const auto copy_out = [&](int node, const std::byte* from) {
    for (int place = 0; place < nodes.places(node); ++place)
      copy_bytes(arguments.receive.at(static_cast<std::size_t>(nodes.rank_at(node, place))),
                 from + between.at(place, crossing.node, crossing.place), between.block);
  };
  for (int node = 0; node < nodes.count(); ++node)
    for (int place = 0; place < nodes.places(node); ++place)
      copy_bytes(to_go.at(node) + between.at(crossing.place, node, place),
                 arguments.send.at(static_cast<std::size_t>(nodes.rank_at(node, place))), between.block);
  co_await crossing.together();
  for_each_partner(crossing, [&](int to, int from, int lane, int step) {
    crossing.receive(from, lane, step, to_come.at(from), to_come.bytes(from));
    crossing.send(to, lane, step, to_go.at(to), to_go.bytes(to));
  });
  copy_out(crossing.node, to_go.at(crossing.node));
  co_await crossing.over();
  co_await crossing.together();
  for (int node = 0; node < nodes.count(); ++node)
    if (node != crossing.node) copy_out(node, to_come.at(node));
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<AlltoallArguments> between_nodes_alltoall_direct{
    "multi-object-direct",
    {"ceil((N-1)/P)", "(N-1) P^2 n", "after PiP-MColl"},
    selection::requires_nodes_and_equal_blocks,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double others = shape.nodes - 1.0;
      return selection::Cost{.hops = 3,
                             .copied_bytes = (shape.nodes * shape.places + others * shape.places) * bytes,
                             .beside = {.copied_bytes = shape.places * bytes},
                             .between = {.rounds = std::ceil(others / shape.places),
                                         .messages = others,
                                         .bytes = others * shape.places * shape.places * bytes}};
    },
    {direct_body, crossing_flags}};

}  // namespace tutti
