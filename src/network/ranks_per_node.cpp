#include "network/ranks_per_node.h"

#include <charconv>
#include <numeric>
#include <vector>

namespace tutti::network {

std::optional<int> make_believe_node(std::string_view list, int rank) {
  std::vector<int> counts;
  for (;;) {
    int count = 0;
    const auto [end, code] = std::from_chars(list.data(), list.data() + list.size(), count);
    if (code != std::errc() || count < 1) return std::nullopt;
    counts.push_back(count);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    if (list.empty()) break;
    if (list.front() != ',') return std::nullopt;
    list.remove_prefix(1);
  }
  const long long all = std::accumulate(counts.begin(), counts.end(), 0ll);
  int node = static_cast<int>(rank / all) * static_cast<int>(counts.size());
  long long before = rank % all;
  for (const int count : counts) {
    if (before < count) break;
    before -= count;
    ++node;
  }
  return node;
}

}  // namespace tutti::network
