// A rank's own block, from its send to its receive buffer. Nobody waits for it, so it is copied piece by piece while the
// rank would only wait for others, and finished after it has told them that it needs nothing more of them.
#pragma once

#include <algorithm>

#include "base/copy.h"
#include "engine/communicator.h"

namespace tutti {

class OwnBlock {
 public:
  /// source == destination: it is where it belongs, there is nothing to copy.
  OwnBlock(std::byte* destination, const std::byte* source, std::size_t bytes, memory::Store store)
      : destination_(destination), source_(source), left_(source != destination ? bytes : 0), store_(store) {}

  /// Copies the next `bytes`, or what is left of it.
  void copy(std::size_t bytes) {
    bytes = std::min(bytes, left_);
    if (bytes == 0) return;
    if (store_ == memory::Store::streaming)
      memory::stream_copy(destination_, source_, bytes);
    else
      copy_bytes(destination_, source_, bytes);
    destination_ += bytes;
    source_ += bytes;
    left_ -= bytes;
  }
  /// Copies until `flag` has come or nothing is left.
  void copy_until(const sync::Flag& flag, sync::Stamp target) {
    while (left_ > 0 && !flag.has(target)) copy(piece_bytes);
  }
  void finish() { copy(left_); }

 private:
  /// A few hundred nanoseconds: a flag that comes meanwhile is not kept waiting for longer.
  static constexpr std::size_t piece_bytes = 2 * grain_bytes;

  std::byte* destination_;
  const std::byte* source_;
  std::size_t left_;
  memory::Store store_;
};

}  // namespace tutti
