// Prints the algorithms as JSON, for `tutti bench --algorithms` and docs/algorithms.md: tutti-algorithms [RANKS]
// With --between-nodes: the names of those for communicators that span nodes.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "collectives/collectives.h"

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("--between-nodes")) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& entry : tutti::known_between_nodes())
      rows.push_back({{"collective", entry.collective}, {"algorithms", entry.algorithms}});
    std::cout << rows.dump(1) << std::endl;
    return std::cout ? 0 : 1;
  }
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  if (ranks < 1) {
    std::cerr << "tutti-algorithms: '" << argv[1] << "' is no number of ranks\n";
    return 2;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const tutti::CatalogueEntry& entry : tutti::catalogue(ranks))
    rows.push_back({{"collective", entry.collective},
                    {"algorithm", entry.algorithm},
                    {"alias", entry.alias},
                    {"requirements", entry.requirements},
                    {"hops", entry.summary.hops},
                    {"moved", entry.summary.moved},
                    {"source", entry.summary.source},
                    {"parameter", entry.parameter},
                    {"candidates", entry.candidates}});
  std::cout << rows.dump(1) << std::endl;
  return std::cout ? 0 : 1;
}
