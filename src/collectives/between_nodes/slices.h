// Blocks of different sizes in slices: of each block the same bytes, as far as it has them, so that what a node's ranks share
// is bounded. Nobody has to agree on how many there are: each knows which messages the sizes that it knows call for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/between_nodes/crossing.h"

namespace tutti {

class Slices {
 public:
  /// sizes: of `count` blocks. at_once: blocks of which a slice is in memory at a time; equal on all ranks.
  Slices(const Operation& operation, const std::uint64_t* sizes, std::size_t count, std::size_t at_once)
      : sizes_(sizes, sizes + count),
        bytes_(
            whole_lines(std::max<std::size_t>(1, segment_bytes(operation.communicator().node().settings) / at_once))),
        largest_(count == 0 ? 0 : *std::max_element(sizes_.begin(), sizes_.end())) {}

  /// At least one.
  int count() const { return static_cast<int>(std::max<std::size_t>(1, (largest_ + bytes_ - 1) / bytes_)); }
  std::size_t begin(int slice) const { return static_cast<std::size_t>(slice) * bytes_; }
  /// What a slice has of a block of `bytes`.
  std::size_t bytes(int slice, std::size_t bytes) const {
    return std::min(bytes_, bytes - std::min(bytes, begin(slice)));
  }
  std::vector<std::uint64_t> sizes(int slice) const {
    std::vector<std::uint64_t> found;
    found.reserve(sizes_.size());
    for (const std::uint64_t size : sizes_) found.push_back(bytes(slice, size));
    return found;
  }

 private:
  std::vector<std::uint64_t> sizes_;
  std::size_t bytes_, largest_;
};

}  // namespace tutti
