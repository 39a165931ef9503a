// Blocks of ranks, packed in the order of nodes and, on each, of places: so that what belongs to a node is one piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/copy.h"
#include "collectives/between_nodes/crossing.h"
#include "collectives/kinds.h"

namespace tutti {

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

/// Copies of which those are made as one that follow each other on both sides: each that is made waits for its first line.
class JoinedCopies {
 public:
  JoinedCopies() = default;
  ~JoinedCopies() { make(); }
  JoinedCopies(const JoinedCopies&) = delete;
  JoinedCopies& operator=(const JoinedCopies&) = delete;

  void add(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 0) return;
    if (bytes_ == 0 || to != to_ + bytes_ || from != from_ + bytes_) {
      make();
      to_ = to, from_ = from, bytes_ = 0;
    }
    bytes_ += bytes;
  }

 private:
  void make() const {
    if (bytes_ > 0) copy_bytes(to_, from_, bytes_);
  }

  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  std::size_t bytes_ = 0;
};

class Packed {
 public:
  /// One block of `bytes` for each rank.
  Packed(const Crossing& crossing, std::size_t bytes) : Packed(crossing, Source{nullptr, bytes}) {}
  /// Those of a buffer, which outlive this.
  Packed(const Crossing& crossing, const Blocks& blocks) : Packed(crossing, Source{&blocks}) {}
  /// With the size of each rank's given, in the order of nodes, of the nodes `of`; others have nothing.
  Packed(const Crossing& crossing, topology::Range of, const std::uint64_t* sizes)
      : Packed(crossing, Source{nullptr, 0, sizes, of}) {}

  Starts starts;

  /// Of each block the part [begin, begin + bytes) alone, as far as it has that.
  void take(std::size_t begin, std::size_t bytes) {
    begin_ = begin;
    most_ = bytes;
    starts.assign(1, 0);
    std::size_t listed = 0;
    for (int node = 0; node < nodes_.count(); ++node) {
      first_[static_cast<std::size_t>(node)] = listed;
      if (source_.has(node)) listed += static_cast<std::size_t>(nodes_.places(node));
      std::size_t sum = 0;
      if (source_.is_equal())
        sum = static_cast<std::size_t>(nodes_.places(node)) * size(0);
      else
        for (const int rank : nodes_.ranks_of(node)) sum += size(rank);
      starts.push_back(starts.back() + sum);
    }
  }
  std::size_t size(int rank) const {
    const std::size_t all = whole_size(rank);
    return std::min(most_, all - std::min(all, begin_));
  }
  /// Where a rank's block lies in what belongs to its node.
  std::size_t in_node(int rank) const {
    const auto place = static_cast<std::size_t>(nodes_.place_of(rank));
    if (source_.is_equal()) return place * size(rank);
    std::size_t before = 0;
    for (const int other : nodes_.ranks_of(nodes_.node_of(rank)).first(place)) before += size(other);
    return before;
  }
  /// Copies what belongs to a node out of `packed` to the blocks of a buffer, all or all but one rank's.
  void unpack(int node, const std::byte* packed, const Blocks& to, int except, JoinedCopies& copies) const {
    for (const int rank : nodes_.ranks_of(node)) {
      if (rank != except) copies.add(to.at(static_cast<std::size_t>(rank)), packed, size(rank));
      packed += size(rank);
    }
  }

 private:
  struct Source {
    const Blocks* blocks = nullptr;
    std::size_t bytes = 0;
    const std::uint64_t* list = nullptr;
    topology::Range of = {};

    bool is_equal() const { return blocks ? blocks->is_regular() : !list; }
    bool has(int node) const {
      return static_cast<std::size_t>(node) >= of.begin && static_cast<std::size_t>(node) < of.end;
    }
  };
  Packed(const Crossing& crossing, const Source& source)
      : starts(crossing.memory()), nodes_(crossing.nodes), source_(source), first_(crossing.memory()) {
    starts.reserve(static_cast<std::size_t>(nodes_.count()) + 1);
    first_.resize(static_cast<std::size_t>(nodes_.count()));
    take(0, most_);
  }
  std::size_t whole_size(int rank) const {
    if (source_.blocks) return source_.blocks->size(static_cast<std::size_t>(rank));
    if (!source_.list) return source_.bytes;
    const int node = nodes_.node_of(rank);
    const std::size_t first = first_[static_cast<std::size_t>(node)];
    return source_.has(node) ? source_.list[first + static_cast<std::size_t>(nodes_.place_of(rank))] : 0;
  }

  const network::Nodes& nodes_;
  const Source source_;
  Starts first_;  ///< of each node's sizes, in the list
  std::size_t begin_ = 0, most_ = static_cast<std::size_t>(-1);
};

/// Blocks of different sizes in slices: of each block the same bytes, as far as it has them, so that what a node's
/// ranks share is bounded. Nobody has to agree on how many there are: each knows which messages the sizes that it knows
/// call for.
class Slices {
 public:
  /// One, of all.
  Slices() = default;
  /// sizes: of `count` blocks. at_once: blocks of which a slice is in memory at a time; equal on all ranks.
  Slices(const Operation& operation, const std::uint64_t* sizes, std::size_t count, std::size_t at_once)
      : bytes_(
            whole_lines(std::max<std::size_t>(1, segment_bytes(operation.communicator().node().settings) / at_once))),
        largest_(count == 0 ? 0 : *std::max_element(sizes, sizes + count)) {}

  /// At least one.
  int count() const { return largest_ <= bytes_ ? 1 : static_cast<int>((largest_ + bytes_ - 1) / bytes_); }
  std::size_t begin(int slice) const { return static_cast<std::size_t>(slice) * bytes_; }
  /// The most that a slice has of a block.
  std::size_t bytes() const { return bytes_; }
  /// What it has of a block of `bytes`.
  std::size_t bytes(int slice, std::size_t bytes) const {
    return std::min(bytes_, bytes - std::min(bytes, begin(slice)));
  }

 private:
  std::size_t bytes_ = static_cast<std::size_t>(-1), largest_ = 0;
};

}  // namespace tutti
