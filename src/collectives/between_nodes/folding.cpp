#include "collectives/between_nodes/folding.h"

namespace tutti {

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
