// Blocks of ranks, packed in the order of nodes and, on each, of places: so that what belongs to a node is one piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/copy.h"
#include "collectives/arguments.h"
#include "collectives/between_nodes/crossing.h"

namespace tutti {

/// Where each of so many parts begins that lie one behind the other, and where the last one ends.
template <class Size>
Starts starts_of(std::size_t parts, const Size& size) {
  Starts starts{0};
  starts.reserve(parts + 1);
  for (std::size_t i = 0; i < parts; ++i) starts.push_back(starts.back() + size(i));
  return starts;
}
/// Of the blocks of an Allgather that differ, those of the piece that the operation carries.
inline AllgatherArguments piece_of(Operation& operation, const Crossing& crossing, AllgatherArguments arguments) {
  const topology::Range piece = arguments.piece;
  if (piece.empty()) return arguments;
  const auto ranks = static_cast<std::size_t>(crossing.nodes.ranks());
  auto* const sizes = operation.array<std::size_t>(ranks);
  auto* const offsets = operation.array<std::ptrdiff_t>(ranks);
  topology::Range block;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    block = {block.end, block.end + arguments.receive.size(rank)};
    const topology::Range part{std::max(block.begin, piece.begin), std::min(block.end, piece.end)};
    if (part.begin >= part.end) continue;
    sizes[rank] = part.length();
    offsets[rank] = arguments.receive.offset(rank) + static_cast<std::ptrdiff_t>(part.begin - block.begin);
    if (static_cast<int>(rank) == crossing.self && arguments.send) arguments.send += part.begin - block.begin;
  }
  arguments.receive = Blocks::irregular(arguments.receive.base, sizes, offsets);
  arguments.bytes = sizes[crossing.self];
  return arguments;
}

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
  /// The same with the size of each rank given, in the order of nodes, of the nodes [begin, end); others have nothing.
  Packed(const network::Nodes& nodes, topology::Range of, std::vector<std::uint64_t> sizes)
      : nodes_(nodes), sizes_(std::move(sizes)), of_(of) {
    starts.assign(of.begin + 1, 0);
    std::size_t next = 0;
    for (std::size_t node = of.begin; node < of.end; ++node) {
      first_.push_back(next);
      std::size_t bytes = 0;
      for (int place = 0; place < nodes.places(static_cast<int>(node)); ++place) bytes += sizes_[next++];
      starts.push_back(starts.back() + bytes);
    }
    starts.resize(static_cast<std::size_t>(nodes.count()) + 1, starts.back());
  }

  Starts starts;

  std::size_t size(int rank) const {
    if (blocks_) return blocks_->size(static_cast<std::size_t>(rank));
    return of_.empty() ? bytes_ : listed(rank);
  }
  /// Where a rank's block lies in what belongs to its node.
  std::size_t in_node(int rank) const {
    const auto place = static_cast<std::size_t>(nodes_.place_of(rank));
    if (!blocks_ && of_.empty()) return place * bytes_;
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
  std::size_t listed(int rank) const {
    const auto node = static_cast<std::size_t>(nodes_.node_of(rank));
    if (node < of_.begin || node >= of_.end) return 0;
    return sizes_[first_[node - of_.begin] + static_cast<std::size_t>(nodes_.place_of(rank))];
  }

  const network::Nodes& nodes_;
  const Blocks* blocks_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::uint64_t> sizes_;  ///< of the ranks of the nodes `of_`
  std::vector<std::size_t> first_;    ///< of each of these nodes, in sizes_
  topology::Range of_ = {};
};

}  // namespace tutti
