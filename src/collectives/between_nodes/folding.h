// What reductions between nodes have in common: the contributions of a node's ranks in shared memory, and who combines
// which elements.
#pragma once

#include <span>
#include <vector>

#include "base/copy.h"
#include "collectives/between_nodes/crossing.h"
#include "collectives/kinds.h"

namespace tutti {

/// The ranks of a node share the elements among them, and each combines its share of them.
class Folding {
 public:
  Folding(const Crossing& crossing, const Combiner& combiner, std::size_t count)
      : crossing_(crossing), combiner_(combiner), count_(count), sources_(crossing.memory()) {}

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
  void combine(topology::Range elements, std::byte* result, std::span<const std::byte* const> sources) {
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
  std::pmr::vector<const void*> sources_;
};

using Sources = std::pmr::vector<const std::byte*>;

/// Which of a node's contributions are combined to one result each: all of them, or, where the order of ranks matters,
/// those of ranks that follow each other.
struct Runs {
  Runs(const Crossing& crossing, bool ordered);

  /// Of a node.
  int count(int node) const { return of_node[static_cast<std::size_t>(node)]; }
  int total() const { return static_cast<int>(all.size()); }
  struct Run {
    int node;
    int index;  ///< among those of its node
    int first_place, places;
  };
  std::pmr::vector<Run> all;  ///< in the order of ranks, or of nodes
  std::pmr::vector<int> of_node;
};

/// Whether results are to be combined by runs: the order of ranks matters, and is not that of nodes.
inline bool by_runs(const Crossing& crossing, const Combiner& combiner) {
  return !combiner.commutative && !crossing.nodes.in_order();
}

/// What the runs of each node come to, beside each other in memory that the node shares.
struct RunResults {
  RunResults(const Crossing& crossing, const Combiner& combiner, std::size_t count, bool ordered);

  Folding folding;
  const Runs runs;
  const Starts starts;  ///< of the nodes
  std::byte* area = nullptr;
  std::byte* contributions = nullptr;  ///< of the node's ranks, a stride apart
  std::byte* result = nullptr;         ///< of as many bytes

  std::size_t bytes_before(const Runs::Run& run) const { return static_cast<std::size_t>(run.index) * folding.bytes(); }
};
/// Lends the memory, with `bytes` for results of nodes, and combines what the ranks of this node have; its results are at
/// `own_at` of these.
Task fold_runs(Operation& operation, Crossing& crossing, RunResults& results, const std::byte* send, std::size_t bytes,
               std::size_t own_at);
}  // namespace tutti
