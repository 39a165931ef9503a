#include "memory/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::memory {

Rows::Rows(Arena& arena, std::size_t row_bytes)
    : arena_(arena), row_bytes_((row_bytes + unit_bytes - 1) / unit_bytes * unit_bytes) {}

std::optional<std::size_t> Rows::allocate() {
  const std::lock_guard lock(mutex_);
  auto block = std::find_if(blocks_.begin(), blocks_.end(), [](const Block& each) { return each.free != 0; });
  if (block == blocks_.end()) {
    const auto offset = arena_.allocate(rows_a_block * row_bytes_);
    if (!offset) return std::nullopt;
    block = blocks_.insert(blocks_.end(), {*offset, ~std::uint64_t{0}});
  }
  const auto row = static_cast<std::size_t>(std::countr_zero(block->free));
  block->free &= block->free - 1;
  return block->offset + row * row_bytes_;
}

void Rows::release(std::size_t offset) {
  const std::lock_guard lock(mutex_);
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& each) {
    return offset - each.offset < rows_a_block * row_bytes_;  // one before the block is far beyond
  });
  std::memset(arena_.base() + offset, 0, row_bytes_);
  block->free |= std::uint64_t{1} << ((offset - block->offset) / row_bytes_);
  // One is kept, lest a block come and go with each row.
  if (~block->free != 0 || blocks_.size() == 1) return;
  arena_.release(block->offset);
  blocks_.erase(block);
}

}  // namespace tutti::memory
