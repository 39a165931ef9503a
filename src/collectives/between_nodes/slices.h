// Blocks of different sizes in slices: of each block the same bytes, as far as it has them, so that what a node's ranks share
// is bounded. Nobody has to agree on how many there are: each knows which messages the sizes that it knows call for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collectives/between_nodes/crossing.h"

namespace tutti {

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
