// Reduce_scatter between nodes: the first half of the large allreduce, all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares, in the order of nodes, and combines its share of
// all of them. Phase 2: what belongs to the ranks of a node goes there, from every node, each lane to its own nodes; then
// the ranks of a node combine what has come. Phase 3: each rank copies its own part.
// Cost: alpha_e ceil((N - 1) / P) + (N - 1) n / N beta_e, for n bytes of all elements and equal counts; inside n copied,
// and about n + n / P combined by each rank.
// Requires: nothing. Where the order of ranks matters and is not that of nodes, the chunks of all runs of ranks are sent.
// After PiP-MColl, section III.B.2.

#include <algorithm>
#include <cmath>
#include <utility>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/chunks.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

Task body(Operation& operation, const Spanning& spanning, const ReduceScatterArguments& arguments) {
  Crossing crossing(operation, spanning);
  const std::size_t element_bytes = arguments.combiner->element_bytes;
  // What this operation carries of what belongs to each rank.
  std::vector<std::size_t> sizes;
  std::vector<std::ptrdiff_t> offsets;
  std::size_t own_at = 0;
  for (std::size_t rank = 0, first = 0; rank < static_cast<std::size_t>(crossing.nodes.ranks()); ++rank) {
    const std::size_t end = first + arguments.counts[rank];
    const std::size_t from = std::clamp(arguments.piece.begin, first, end);
    const std::size_t to = std::clamp(arguments.piece.end, first, end);
    sizes.push_back((to - from) * element_bytes);
    offsets.push_back(static_cast<std::ptrdiff_t>(from * element_bytes));
    if (static_cast<int>(rank) == spanning.rank) own_at = (from - first) * element_bytes;
    first = end;
  }
  const Blocks blocks = Blocks::irregular(arguments.send, sizes.data(), offsets.data());
  const Packed packed(crossing.nodes, blocks);
  std::vector<std::size_t> first_elements;
  for (const std::size_t start : packed.starts) first_elements.push_back(start / element_bytes);
  Folding folding(crossing, *arguments.combiner, arguments.piece.length());
  const Chunks chunks(crossing, folding, *arguments.combiner, std::move(first_elements));
  crossing.lend(chunks.area_bytes() + bytes_at(packed.starts, crossing.node));
  co_await crossing.lent();
  std::byte* const area = crossing.area();
  for (int node = 0; node < crossing.nodes.count(); ++node)
    packed.pack(node, blocks, area + chunks.contribution(crossing.place) + place_at(packed.starts, node));
  co_await crossing.together();
  std::byte* const result = area + chunks.area_bytes();
  co_await reduce_scatter(operation, crossing, chunks, area, result);
  if (packed.size(spanning.rank) > 0)
    copy_bytes(arguments.receive + own_at, result + packed.in_node(spanning.rank), packed.size(spanning.rank));
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<ReduceScatterArguments> between_nodes_reduce_scatter_direct;
const SpanningAlgorithm<ReduceScatterArguments> between_nodes_reduce_scatter_direct{
    "multi-object-direct",
    "ceil((N-1)/P)",
    "n (N-1)/N, for each run of ranks on a node",
    "after PiP-MColl III.B.2",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double others = shape.nodes - 1.0;
      return network::Cost{.rounds = std::ceil(others / shape.places),
                           .messages = others,
                           .bytes = shape.bytes * others / shape.nodes * shape.runs,
                           .inside_starts = 5,
                           .inside_bytes = shape.bytes,
                           .reduced_bytes = shape.bytes + shape.runs * shape.bytes / shape.places};
    },
    body};

}  // namespace tutti
