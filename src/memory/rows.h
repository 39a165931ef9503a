// Short rows of bytes in a rank's arena, zero when they are handed out: for what peers tell this rank long after they have
// been told where. All are of one length, so that a page holds many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "memory/arena.h"

namespace tutti::memory {

/// Any thread may call it.
class Rows {
 public:
  /// In units of this is a row's place in the arena, and its length.
  static constexpr std::size_t unit_bytes = 64;

  Rows(Arena& arena, std::size_t row_bytes);

  /// Its offset in the arena; nothing when that is full.
  std::optional<std::size_t> allocate();
  /// Peers must write there no more.
  void release(std::size_t offset);

 private:
  static constexpr std::size_t rows_a_block = 64;
  struct Block {
    std::size_t offset;
    std::uint64_t free;  ///< a bit a row
  };

  Arena& arena_;
  std::size_t row_bytes_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace tutti::memory
