// Reduce_scatter between nodes: the first half of the large allreduce, all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares, in the order of nodes, and combines its share of
// all of them. Phase 2: what belongs to the ranks of a node goes there, from every node, each lane to its own nodes; then
// the ranks of a node combine what has come. Phase 3: each rank copies its own part.
// Cost: alpha_e ceil((N - 1) / P) + (N - 1) n / N beta_e, for n bytes of all elements and equal counts; inside n copied,
// and about n + n / P combined by each rank.
// Requires: nothing. Where the order of ranks matters and is not that of nodes, the chunks of all runs of ranks are sent.
// After PiP-MColl, section III.B.2.

#include <cmath>
#include <vector>

#include "collectives/algorithm.h"
#include "collectives/between_nodes/chunks.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

/// What an operation carries of a rank's part.
struct Part {
  int rank;
  topology::Range elements;  ///< of all
  std::size_t first;         ///< element of the whole part
  std::size_t in_node;       ///< elements of ranks of its node before it
};

Task direct_body(Operation& operation, const ReduceScatterArguments& arguments) {
  Crossing crossing(operation);
  const network::Nodes& nodes = crossing.nodes;
  const topology::Range piece = arguments.piece;
  std::pmr::vector<Part> parts(crossing.memory());
  std::pmr::vector<std::size_t> of_node(static_cast<std::size_t>(nodes.count()), crossing.memory());
  std::size_t first = 0;
  for (std::size_t rank = 0; first < piece.end; first += arguments.counts[rank++]) {
    const topology::Range elements{std::max(piece.begin, first), std::min(piece.end, first + arguments.counts[rank])};
    if (elements.begin >= elements.end) continue;
    // Ranks have their places in the order of ranks.
    std::size_t& before = of_node[static_cast<std::size_t>(nodes.node_of(static_cast<int>(rank)))];
    parts.push_back({static_cast<int>(rank), elements, first, before});
    before += elements.length();
  }
  const Starts chunk_starts = starts_of(crossing, of_node.size(), [&](std::size_t node) { return of_node[node]; });
  const std::size_t element_bytes = arguments.combiner->element_bytes;
  Folding folding(crossing, *arguments.combiner, piece.length());
  const Chunks chunks(crossing, folding, *arguments.combiner, Starts(chunk_starts, crossing.memory()));
  std::byte* const area = co_await crossing.lend(chunks.area_bytes() + bytes_at(chunks.starts, crossing.node));
  std::byte* const contribution = area + chunks.contribution(crossing.place);
  for (const Part& part : parts) {
    const std::size_t at = chunk_starts[static_cast<std::size_t>(nodes.node_of(part.rank))] + part.in_node;
    copy_bytes(contribution + at * element_bytes, arguments.send + part.elements.begin * element_bytes,
               part.elements.length() * element_bytes);
  }
  co_await crossing.together();
  std::byte* const result = area + chunks.area_bytes();
  co_await reduce_scatter(operation, crossing, chunks, area, result);
  for (const Part& part : parts) {
    if (part.rank != crossing.self) continue;
    const std::size_t at = part.elements.begin - part.first;
    copy_bytes(arguments.receive + at * element_bytes, result + part.in_node * element_bytes,
               part.elements.length() * element_bytes);
  }
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<ReduceScatterArguments> between_nodes_reduce_scatter_direct{
    "multi-object-direct",
    {"ceil((N-1)/P)", "n (N-1)/N, for each run of ranks on a node", "after PiP-MColl III.B.2"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double others = shape.nodes - 1.0;
      return selection::Cost{.hops = 5,
                             .copied_bytes = bytes,
                             .reduced_bytes = bytes + shape.runs * bytes / shape.places,
                             .between = {.rounds = std::ceil(others / shape.places),
                                         .messages = others,
                                         .bytes = bytes * others / shape.nodes * shape.runs}};
    },
    {direct_body, crossing_flags}};

}  // namespace tutti
