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

#include <algorithm>
#include <cmath>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/folding.h"
#include "collectives/between_nodes/moves.h"

namespace tutti {

namespace {

/// One chunk of the elements a node, and where lies what of it.
class Chunks {
 public:
  Chunks(const network::Nodes& nodes, const Runs& runs, const Combiner& combiner, std::size_t count, int self)
      : nodes_(nodes.count()), runs_(runs), combiner_(combiner), count_(count), self_(self) {
    for (int node = 0; node < nodes_; ++node) starts.push_back(elements(node).begin * combiner.element_bytes);
    starts.push_back(count * combiner.element_bytes);
    std::size_t at = 0;
    for (int node = 0; node < nodes_; ++node) {
      received_.push_back(at);
      if (node != self) at += static_cast<std::size_t>(runs.count(node)) * bytes_at(starts, self);
    }
    received_bytes = at;
  }

  Starts starts;  ///< of the chunks in the whole
  std::size_t received_bytes = 0;

  topology::Range elements(int node) const {
    return topology::share_of({0, count_}, static_cast<std::size_t>(node), static_cast<std::size_t>(nodes_),
                              topology::elements_in_line(combiner_.element_bytes));
  }
  /// What this node has combined: chunk by chunk, in each its runs one after the other.
  std::size_t own(int chunk, int run = 0) const {
    return static_cast<std::size_t>(runs_.count(self_)) * starts[static_cast<std::size_t>(chunk)] +
           static_cast<std::size_t>(run) * bytes_at(starts, chunk);
  }
  /// What has come from another node, of this node's chunk.
  std::size_t received(int node, int run = 0) const {
    return received_[static_cast<std::size_t>(node)] + static_cast<std::size_t>(run) * bytes_at(starts, self_);
  }

 private:
  const int nodes_;
  const Runs& runs_;
  const Combiner& combiner_;
  const std::size_t count_;
  const int self_;
  std::vector<std::size_t> received_;
};

/// Where the parts of the shared memory lie.
struct Areas {
  std::byte* contributions;
  std::byte* combined;
  std::byte* received;
  std::byte* result;
};

/// Phase 1, this rank's share.
void combine_inside(const Crossing& crossing, Folding& folding, const Runs& runs, const Chunks& chunks,
                    const Areas& areas, std::size_t element_bytes) {
  std::vector<const std::byte*> sources;
  const topology::Range share = folding.share();
  for (int chunk = 0; chunk < crossing.nodes.count(); ++chunk) {
    const topology::Range elements = chunks.elements(chunk);
    const topology::Range mine{std::max(share.begin, elements.begin), std::min(share.end, elements.end)};
    if (mine.empty()) continue;
    for (const Runs::Run& run : runs.all) {
      if (run.node != crossing.node) continue;
      sources.clear();
      const std::size_t at = mine.begin * element_bytes;
      for (int place = run.first_place; place < run.first_place + run.places; ++place)
        sources.push_back(areas.contributions + static_cast<std::size_t>(place) * folding.stride() + at);
      folding.combine({0, mine.length()},
                      areas.combined + chunks.own(chunk, run.index) + (mine.begin - elements.begin) * element_bytes,
                      sources);
    }
  }
}

/// Phase 2, without the combining.
void exchange_chunks(Crossing& crossing, const Runs& runs, const Chunks& chunks, const Areas& areas) {
  const int nodes = crossing.nodes.count();
  for (int distance = 1; distance < nodes; ++distance) {
    const int lane = (distance - 1) % crossing.lanes, step = (distance - 1) / crossing.lanes;
    if (!crossing.serves(lane)) continue;
    const int to = (crossing.node + distance) % nodes, from = (crossing.node - distance + nodes) % nodes;
    const auto bytes = [&](int node, int chunk) {
      return static_cast<std::size_t>(runs.count(node)) * bytes_at(chunks.starts, chunk);
    };
    crossing.receive(from, lane, step, areas.received + chunks.received(from), bytes(from, crossing.node));
    crossing.send(to, lane, step, areas.combined + chunks.own(to), bytes(crossing.node, to));
  }
}

Task collect(Operation&, Crossing& crossing, NodeParts parts, std::byte* to) {
  for (int step = 0; step < crossing.nodes.count(); ++step) {
    const int part = part_of_step(crossing, step);
    if (step > 0) co_await crossing.all_announced(step);
    if (parts.bytes(part) > 0) copy_bytes(to + place_at(*parts.starts, part), parts.at(part), parts.bytes(part));
  }
}

Task body(Operation& operation, const Spanning& spanning, const AllreduceArguments& arguments) {
  Crossing crossing(operation, spanning);
  const Combiner& combiner = *arguments.combiner;
  Folding folding(crossing, combiner, arguments.count);
  const Runs runs(crossing.nodes, by_runs(crossing.nodes, combiner));
  const Chunks chunks(crossing.nodes, runs, combiner, arguments.count, crossing.node);
  const std::size_t contributed = static_cast<std::size_t>(crossing.places) * folding.stride();
  const std::size_t combined = whole_lines(static_cast<std::size_t>(runs.count(crossing.node)) * folding.bytes());
  const std::size_t received = whole_lines(chunks.received_bytes);
  crossing.lend(contributed + combined + received + folding.bytes());
  co_await crossing.lent();
  std::byte* const area = crossing.area();
  const Areas areas{area, area + contributed, area + contributed + combined, area + contributed + combined + received};
  copy_bytes(areas.contributions + static_cast<std::size_t>(crossing.place) * folding.stride(), arguments.send,
             folding.bytes());
  co_await crossing.together();
  combine_inside(crossing, folding, runs, chunks, areas, combiner.element_bytes);
  co_await crossing.together();
  exchange_chunks(crossing, runs, chunks, areas);
  co_await crossing.over();
  co_await crossing.together();
  const NodeParts parts{areas.result, &chunks.starts};
  std::vector<const std::byte*> sources;
  for (const Runs::Run& run : runs.all)
    sources.push_back(run.node == crossing.node ? areas.combined + chunks.own(crossing.node, run.index)
                                                : areas.received + chunks.received(run.node, run.index));
  folding.combine(folding.share({0, chunks.elements(crossing.node).length()}), parts.at(crossing.node), sources);
  co_await crossing.together();
  const int steps = (crossing.nodes.count() - 1 + crossing.lanes - 1) / crossing.lanes;
  co_await operation.both(ring(operation, crossing, parts, steps),
                          collect(operation, crossing, parts, arguments.receive));
  co_await leave(operation, crossing);
}

}  // namespace

extern const SpanningAlgorithm<AllreduceArguments> between_nodes_allreduce_reduce_scatter_ring;
const SpanningAlgorithm<AllreduceArguments> between_nodes_allreduce_reduce_scatter_ring{
    "multi-object-reduce-scatter-ring",
    "ceil((N-1)/P) + N-1",
    "2 n (N-1)/N; of each run in the first half",
    "PiP-MColl III.B.2; any N, P and order",
    "nothing",
    always,
    [](const network::Shape& shape) {
      const double others = shape.nodes - 1.0;
      const double scattered = shape.bytes * others / shape.nodes * shape.runs;
      return network::Cost{.rounds = std::ceil(others / shape.places) + others,
                           .messages = others + others * shape.places,
                           .bytes = scattered + shape.bytes * others / shape.nodes,
                           .inside_starts = 5,
                           .inside_bytes = shape.bytes,
                           .reduced_bytes = shape.bytes + shape.runs * shape.bytes / shape.places,
                           .overlapped_bytes = shape.bytes};
    },
    body};

}  // namespace tutti
