#include "collectives/between_nodes/folding.h"

namespace tutti {

Runs::Runs(const Crossing& crossing, bool ordered)
    : all(crossing.memory()), of_node(static_cast<std::size_t>(crossing.nodes.count()), crossing.memory()) {
  const network::Nodes& nodes = crossing.nodes;
  if (!ordered) {
    for (int node = 0; node < nodes.count(); ++node) all.push_back({node, 0, 0, nodes.places(node)});
    of_node.assign(of_node.size(), 1);
    return;
  }
  for (const network::Nodes::Run& run : nodes.runs())
    all.push_back({run.node, of_node[static_cast<std::size_t>(run.node)]++, nodes.place_of(run.first), run.count});
}

RunResults::RunResults(const Crossing& crossing, const Combiner& combiner, std::size_t count, bool ordered)
    : folding(crossing, combiner, count), runs(crossing, ordered), starts(starts_of_nodes(crossing, [&](int node) {
        return static_cast<std::size_t>(runs.count(node)) * folding.bytes();
      })) {}

Task fold_runs(Operation& /*operation*/, Crossing& crossing, RunResults& results, const std::byte* send,
               std::size_t bytes, std::size_t own_at) {
  Folding& folding = results.folding;
  const auto places = static_cast<std::size_t>(crossing.places);
  results.area = co_await crossing.lend(whole_lines(bytes) + (places + 1) * folding.stride());
  results.contributions = results.area + whole_lines(bytes);
  results.result = results.contributions + places * folding.stride();
  copy_bytes(results.contributions + static_cast<std::size_t>(crossing.place) * folding.stride(), send,
             folding.bytes());
  co_await crossing.together();
  Sources sources(crossing.memory());
  for (const Runs::Run& run : results.runs.all) {
    if (run.node != crossing.node) continue;
    sources.clear();
    for (int place = run.first_place; place < run.first_place + run.places; ++place)
      sources.push_back(results.contributions + static_cast<std::size_t>(place) * folding.stride());
    folding.combine(folding.share(), results.area + own_at + results.bytes_before(run), sources);
  }
  co_await crossing.together();
}

}  // namespace tutti
