#include "collectives/between_nodes/chunks.h"

#include <algorithm>
#include <utility>

#include "collectives/between_nodes/moves.h"

namespace tutti {

Chunks::Chunks(const Crossing& crossing, Folding& folding, const Combiner& combiner, Starts first_elements)
    : runs(crossing, by_runs(crossing, combiner)),
      starts(
          starts_of_nodes(crossing, [&](int node) { return bytes_at(first_elements, node) * combiner.element_bytes; })),
      folding_(folding),
      first_elements_(std::move(first_elements)),
      self_(crossing.node),
      received_(crossing.memory()) {
  combined_at_ = contribution(crossing.places);
  std::size_t at = combined_at_ + whole_lines(static_cast<std::size_t>(runs.count(self_)) * folding.bytes());
  for (int node = 0; node < crossing.nodes.count(); ++node) {
    received_.push_back(at);
    if (node != self_) at += static_cast<std::size_t>(runs.count(node)) * bytes_at(starts, self_);
  }
  area_bytes_ = whole_lines(at);
}

namespace {

/// This rank's share of what its node combines.
void combine_inside(const Crossing& crossing, const Chunks& chunks, std::byte* area) {
  Sources sources(crossing.memory());
  const topology::Range share = chunks.folding().share();
  for (int chunk = 0; chunk < crossing.nodes.count(); ++chunk) {
    const topology::Range elements = chunks.elements(chunk);
    const topology::Range mine{std::max(share.begin, elements.begin), std::min(share.end, elements.end)};
    if (mine.empty()) continue;
    for (const Runs::Run& run : chunks.runs.all) {
      if (run.node != crossing.node) continue;
      sources.clear();
      for (int place = run.first_place; place < run.first_place + run.places; ++place)
        sources.push_back(area + chunks.contribution(place) + chunks.starts[static_cast<std::size_t>(chunk)]);
      chunks.folding().combine({mine.begin - elements.begin, mine.end - elements.begin},
                               area + chunks.combined(chunk, run.index), sources);
    }
  }
}

}  // namespace

Task reduce_scatter(Operation&, Crossing& crossing, const Chunks& chunks, std::byte* area, std::byte* result) {
  combine_inside(crossing, chunks, area);
  co_await crossing.together();
  const auto bytes = [&](int node, int chunk) {
    return static_cast<std::size_t>(chunks.runs.count(node)) * bytes_at(chunks.starts, chunk);
  };
  for_each_partner(crossing, [&](int to, int from, int lane, int step) {
    crossing.receive(from, lane, step, area + chunks.received(from), bytes(from, crossing.node));
    crossing.send(to, lane, step, area + chunks.combined(to), bytes(crossing.node, to));
  });
  co_await crossing.over();
  co_await crossing.together();
  Sources sources(crossing.memory());
  for (const Runs::Run& run : chunks.runs.all)
    sources.push_back(area + (run.node == crossing.node ? chunks.combined(crossing.node, run.index)
                                                        : chunks.received(run.node, run.index)));
  const topology::Range all{0, chunks.elements(crossing.node).length()};
  chunks.folding().combine(chunks.folding().share(all), result, sources);
  co_await crossing.together();
}

}  // namespace tutti
