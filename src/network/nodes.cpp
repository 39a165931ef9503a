#include "network/nodes.h"

#include <algorithm>
#include <map>

namespace tutti::network {

Nodes::Nodes(std::span<const int> node_of_rank) {
  std::map<int, int> number;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const auto [found, is_new] = number.try_emplace(node_of_rank[rank], static_cast<int>(number.size()));
    if (is_new) {
      ranks_of_.emplace_back();
      runs_of_.push_back(0);
    }
    const int node = found->second;
    auto& ranks = ranks_of_[static_cast<std::size_t>(node)];
    node_of_.push_back(node);
    place_of_.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(static_cast<int>(rank));
    most_places_ = std::max(most_places_, static_cast<int>(ranks.size()));
    if (runs_.empty() || runs_.back().node != node) {
      runs_.push_back({node, static_cast<int>(rank), 0});
      ++runs_of_[static_cast<std::size_t>(node)];
    }
    ++runs_.back().count;
  }
}

}  // namespace tutti::network
