// What reductions between nodes have in common: the contributions of a node's ranks in shared memory, and who combines
// which elements.
#pragma once

#include <vector>

#include "base/copy.h"
#include "collectives/arguments.h"
#include "collectives/between_nodes/crossing.h"

namespace tutti {

/// The ranks of a node share the elements among them, and each combines its share of them.
class Folding {
 public:
  Folding(const Crossing& crossing, const Combiner& combiner, std::size_t count)
      : crossing_(crossing), combiner_(combiner), count_(count) {}

  std::size_t bytes() const { return count_ * combiner_.element_bytes; }
  /// Distance of messages in shared memory.
  std::size_t stride() const { return whole_lines(bytes()); }
  topology::Range share() const { return share({0, count_}); }
  topology::Range share(topology::Range elements) const {
    return topology::share_of(elements, static_cast<std::size_t>(crossing_.place),
                              static_cast<std::size_t>(crossing_.places),
                              topology::elements_in_line(combiner_.element_bytes));
  }
  /// result = sources[0] op sources[1] op ...: `elements` of them; all begin with element 0.
  void combine(topology::Range elements, std::byte* result, const std::vector<const std::byte*>& sources) {
    if (elements.empty()) return;
    const std::size_t at = elements.begin * combiner_.element_bytes;
    sources_.clear();
    for (const std::byte* source : sources) sources_.push_back(source + at);
    if (sources_.size() > 1)
      combiner_(result + at, sources_.data(), sources_.size(), elements.length());
    else if (sources_[0] != result + at)
      copy_bytes(result + at, sources_[0], elements.length() * combiner_.element_bytes);
  }

 private:
  const Crossing& crossing_;
  const Combiner& combiner_;
  const std::size_t count_;
  std::vector<const void*> sources_;
};

/// Shared memory of a reduction that goes in rounds.
struct FoldingArea {
  std::byte* combined = nullptr;  ///< of the node's ranks, and of what has come
  std::byte* received = nullptr;  ///< from other nodes in one round, a stride apart
};

/// The part before the first round: lends the memory, for so many messages in a round, and combines what the ranks of the
/// node have.
Task fold_node(Operation& operation, Crossing& crossing, Folding& folding, const std::byte* send,
               std::size_t messages_max, FoldingArea& area);

/// Which of a node's contributions are combined to one result each: all of them, or, where the order of ranks matters,
/// those of ranks that follow each other.
struct Runs {
  Runs(const network::Nodes& nodes, bool ordered);

  /// Of a node.
  int count(int node) const { return of_node[static_cast<std::size_t>(node)]; }
  int total() const { return static_cast<int>(all.size()); }
  struct Run {
    int node;
    int index;  ///< among those of its node
    int first_place, places;
  };
  std::vector<Run> all;  ///< in the order of ranks, or of nodes
  std::vector<int> of_node;
};

/// This rank's share of what the runs of its node come to: contributions lie a stride apart, results one after the other.
void fold_runs(Folding& folding, const Runs& runs, int node, const std::byte* contributions, std::byte* results);

/// Whether results are to be combined by runs: the order of ranks matters, and is not that of nodes.
inline bool by_runs(const network::Nodes& nodes, const Combiner& combiner) {
  return !combiner.commutative && !nodes.in_order();
}
}  // namespace tutti
