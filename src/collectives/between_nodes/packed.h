// Blocks of ranks, packed in the order of nodes and, on each, of places: so that what belongs to a node is one piece.
#pragma once

#include <cstring>

#include "base/copy.h"
#include "collectives/arguments.h"
#include "collectives/between_nodes/crossing.h"

namespace tutti {

class Packed {
 public:
  /// One block of `bytes` for each rank.
  Packed(const network::Nodes& nodes, std::size_t bytes) : nodes_(nodes), bytes_(bytes) {
    starts.push_back(0);
    for (int node = 0; node < nodes.count(); ++node)
      starts.push_back(starts.back() + static_cast<std::size_t>(nodes.places(node)) * bytes);
  }
  /// Those of a buffer.
  Packed(const network::Nodes& nodes, const Blocks& blocks) : nodes_(nodes), blocks_(&blocks) {
    starts.push_back(0);
    for (int node = 0; node < nodes.count(); ++node) {
      std::size_t bytes = 0;
      for (const int rank : nodes.ranks_of(node)) bytes += size(rank);
      starts.push_back(starts.back() + bytes);
    }
  }
  /// The same with the size of each rank given, in the order of nodes, of the nodes [first, end); others have nothing.
  Packed(const network::Nodes& nodes, topology::Range of, const std::uint64_t* sizes) : nodes_(nodes) {
    sizes_.resize(static_cast<std::size_t>(nodes.ranks()));
    starts.push_back(0);
    for (int node = 0; node < nodes.count(); ++node) {
      std::size_t bytes = 0;
      if (static_cast<std::size_t>(node) >= of.begin && static_cast<std::size_t>(node) < of.end)
        for (const int rank : nodes.ranks_of(node)) {
          sizes_[static_cast<std::size_t>(rank)] = *sizes++;
          bytes += size(rank);
        }
      starts.push_back(starts.back() + bytes);
    }
  }

  Starts starts;

  std::size_t size(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return blocks_ ? blocks_->size(r) : sizes_.empty() ? bytes_ : sizes_[r];
  }
  /// Where a rank's block lies in what belongs to its node.
  std::size_t in_node(int rank) const {
    const auto place = static_cast<std::size_t>(nodes_.place_of(rank));
    if (!blocks_ && sizes_.empty()) return place * bytes_;
    std::size_t before = 0;
    for (const int other : nodes_.ranks_of(nodes_.node_of(rank)).first(place)) before += size(other);
    return before;
  }
  /// Copies what belongs to a node between `packed` and the blocks of a buffer, all or all but one rank's.
  void unpack(int node, const std::byte* packed, const Blocks& to, int except = -1) const {
    for (const int rank : nodes_.ranks_of(node)) {
      if (rank != except && size(rank) > 0) copy_bytes(to.at(static_cast<std::size_t>(rank)), packed, size(rank));
      packed += size(rank);
    }
  }
  void pack(int node, const Blocks& from, std::byte* packed) const {
    for (const int rank : nodes_.ranks_of(node)) {
      if (size(rank) > 0) copy_bytes(packed, from.at(static_cast<std::size_t>(rank)), size(rank));
      packed += size(rank);
    }
  }

 private:
  const network::Nodes& nodes_;
  const Blocks* blocks_ = nullptr;
  std::vector<std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

}  // namespace tutti
