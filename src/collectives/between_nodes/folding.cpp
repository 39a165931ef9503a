#include "collectives/between_nodes/folding.h"

namespace tutti {

Task fold_node(Operation& /*operation*/, Crossing& crossing, Folding& folding, const std::byte* send,
               std::size_t messages_max, FoldingArea& area) {
  const auto places = static_cast<std::size_t>(crossing.places);
  crossing.lend((places + 1 + messages_max) * folding.stride());
  co_await crossing.lent();
  std::byte* const contributions = crossing.area();
  area.combined = contributions + places * folding.stride();
  area.received = area.combined + folding.stride();
  copy_bytes(contributions + static_cast<std::size_t>(crossing.place) * folding.stride(), send, folding.bytes());
  co_await crossing.together();
  std::vector<const std::byte*> sources;
  for (std::size_t place = 0; place < places; ++place) sources.push_back(contributions + place * folding.stride());
  folding.combine(folding.share(), area.combined, sources);
  co_await crossing.together();
}

Runs::Runs(const network::Nodes& nodes, bool ordered) : of_node(static_cast<std::size_t>(nodes.count())) {
  if (!ordered) {
    for (int node = 0; node < nodes.count(); ++node) all.push_back({node, 0, 0, nodes.places(node)});
    of_node.assign(of_node.size(), 1);
    return;
  }
  for (const network::Nodes::Run& run : nodes.runs())
    all.push_back({run.node, of_node[static_cast<std::size_t>(run.node)]++, nodes.place_of(run.first), run.count});
}

void fold_runs(Folding& folding, const Runs& runs, int node, const std::byte* contributions, std::byte* results) {
  std::vector<const std::byte*> sources;
  for (const Runs::Run& run : runs.all) {
    if (run.node != node) continue;
    sources.clear();
    for (int place = run.first_place; place < run.first_place + run.places; ++place)
      sources.push_back(contributions + static_cast<std::size_t>(place) * folding.stride());
    folding.combine(folding.share(), results + static_cast<std::size_t>(run.index) * folding.bytes(), sources);
  }
}

}  // namespace tutti
