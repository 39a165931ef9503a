// Reduce-scatter between nodes (PiP-MColl, section III.B.2, steps 1 to 4): of the elements one chunk belongs to each node,
// which gets it combined from all.
#pragma once

#include <cstddef>

#include "collectives/between_nodes/folding.h"

namespace tutti {

/// Where what lies in memory that the ranks of a node share.
class Chunks {
 public:
  /// first_elements: of each node's chunk, and the number of all elements.
  Chunks(const Crossing& crossing, Folding& folding, const Combiner& combiner, Starts first_elements);

  const Runs runs;
  const Starts starts;  ///< of the chunks, bytes, in all elements

  /// Bytes of shared memory for all that follows; the node's chunk in the end goes behind.
  std::size_t area_bytes() const { return area_bytes_; }
  /// The contribution of the rank at a place: all elements.
  std::size_t contribution(int place) const { return static_cast<std::size_t>(place) * folding_.stride(); }
  /// What this node has combined: chunk by chunk, in each its runs one after the other.
  std::size_t combined(int chunk, int run = 0) const {
    return combined_at_ + static_cast<std::size_t>(runs.count(self_)) * starts[static_cast<std::size_t>(chunk)] +
           static_cast<std::size_t>(run) * bytes_at(starts, chunk);
  }
  /// What has come from another node, of this node's chunk.
  std::size_t received(int node, int run = 0) const {
    return received_[static_cast<std::size_t>(node)] + static_cast<std::size_t>(run) * bytes_at(starts, self_);
  }
  topology::Range elements(int node) const {
    const auto n = static_cast<std::size_t>(node);
    return {first_elements_[n], first_elements_[n + 1]};
  }
  Folding& folding() const { return folding_; }

 private:
  Folding& folding_;
  const Starts first_elements_;
  const int self_;
  std::size_t combined_at_, area_bytes_;
  Starts received_;
};

/// Steps that it takes between nodes.
inline int chunk_steps(const Crossing& crossing) {
  return (crossing.nodes.count() - 1 + crossing.lanes - 1) / crossing.lanes;
}
/// The contributions are in `area`, on all ranks together; then this node's chunk is in `result`.
Task reduce_scatter(Operation& operation, Crossing& crossing, const Chunks& chunks, std::byte* area, std::byte* result);

}  // namespace tutti
