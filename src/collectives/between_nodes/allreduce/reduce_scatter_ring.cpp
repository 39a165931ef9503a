// Allreduce between nodes, for large messages: reduce-scatter, then the ring of the allgather, overlapped with the
// broadcast inside; all ranks of a node at once.
//
// Phase 1: each rank copies its elements into memory that the node shares, and combines its share of all of them, chunk by
// chunk: one chunk a node. Phase 2: chunk j goes to node j, from every node, each lane to its own nodes; then the ranks of
// a node combine what has come. Phase 3: the chunks go around the ring of nodes, each rank sending its lane's share, while
// all ranks copy the chunks that are there to their buffers.
// Cost, section III.B.2: alpha_r (P - 1) + n P gamma, then alpha_e (P - 1) + (N - 1) n / N (beta_e + gamma), then the
// greater one of alpha_e (N - 1) + n (N - 1) / N beta_e and the copying inside. The paper gives each rank N / P nodes to
// send to, whose chunks one rank there receives; here both sides are dealt out by the distance of the nodes, so that a
// rank sends and receives ceil((N - 1) / P) chunks, and so many rounds are counted.
// Requires: nothing. Where the order of ranks matters and is not that of nodes, the chunks of all runs of ranks are sent.
// PiP-MColl, section III.B.2, any N, P and count.

#include <cmath>

#include "collectives/algorithm.h"
#include "collectives/between_nodes/chunks.h"
#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

/// All chunks in memory that the node shares, from which each rank copies them.
class SharedChunks final : public RingShares {
 public:
  SharedChunks(const Crossing& crossing, NodeParts parts, std::byte* to)
      : crossing_(crossing), parts_(parts), to_(to) {}
  const std::byte* to_send(int part, int lane) override { return to_receive(part, lane); }
  std::byte* to_receive(int part, int lane) override { return parts_.at(part) + share(part, lane).begin; }
  void fetch(int place, int part) override {
    for (int lane = place; lane < crossing_.lanes; lane += crossing_.places)
      if (const topology::Range bytes = share(part, lane); !bytes.empty())
        copy_bytes(to_ + place_at(*parts_.starts, part) + bytes.begin, parts_.at(part) + bytes.begin, bytes.length());
  }

 private:
  topology::Range share(int part, int lane) const { return lane_share(parts_.bytes(part), lane, crossing_.lanes); }

  const Crossing& crossing_;
  const NodeParts parts_;
  std::byte* const to_;
};

Task reduce_scatter_ring_body(Operation& operation, const AllreduceArguments& arguments) {
  Crossing crossing(operation);
  Folding folding(crossing, *arguments.combiner, arguments.count);
  const std::size_t grain = topology::elements_in_line(arguments.combiner->element_bytes);
  const Chunks chunks(crossing, folding, *arguments.combiner, starts_of_shares(crossing, arguments.count, grain));
  std::byte* const area = co_await crossing.lend(chunks.area_bytes() + folding.bytes());
  copy_bytes(area + chunks.contribution(crossing.place), arguments.send, folding.bytes());
  co_await crossing.together();
  const NodeParts parts{area + chunks.area_bytes(), &chunks.starts};
  co_await reduce_scatter(operation, crossing, chunks, area, parts.at(crossing.node));
  SharedChunks shares(crossing, parts, arguments.receive);
  crossing.announce(0);
  co_await around_ring(operation, crossing, shares, chunks.starts, {.first = chunk_steps(crossing)});
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<AllreduceArguments> between_nodes_allreduce_reduce_scatter_ring{
    "multi-object-reduce-scatter-ring",
    {"ceil((N-1)/P) + N-1", "2 n (N-1)/N; of each run in the first half", "PiP-MColl III.B.2; any N, P and order"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double others = shape.nodes - 1.0;
      const double scattered = bytes * others / shape.nodes * shape.runs;
      return selection::Cost{.hops = 5,
                             .copied_bytes = bytes,
                             .reduced_bytes = bytes + shape.runs * bytes / shape.places,
                             .beside = {.copied_bytes = bytes},
                             .between = {.rounds = std::ceil(others / shape.places) + others,
                                         .messages = others + others * shape.places,
                                         .bytes = scattered + bytes * others / shape.nodes}};
    },
    {reduce_scatter_ring_body, crossing_flags}};

}  // namespace tutti
