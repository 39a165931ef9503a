#include "fuzz_buffer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tutti::tests {

namespace {

/// Of blocks whose places are given in bytes.
constexpr MPI_Aint kAlignment = 16;

}  // namespace

Item::Item(LayoutKind kind, MPI_Datatype basic, std::size_t unit, std::mt19937_64& random)
    : layout_(kind, basic, unit, random), elements_(unit / static_cast<std::size_t>(layout_.count())) {
  PMPI_Type_get_extent(type(), &lower_bound_, &extent_);
}

BlockBuffer::BlockBuffer(const FuzzPlace& place, const Draw& draw, MPI_Datatype basic, std::size_t element_bytes,
                         std::vector<std::size_t> elements, Spread spread, int slot)
    : element_bytes_(element_bytes), elements_(std::move(elements)) {
  std::mt19937_64& local = place.local;
  const std::size_t types = spread == Spread::kBytes ? std::max<std::size_t>(1, elements_.size()) : 1;
  for (std::size_t i = 0; i < types; ++i) {
    const auto kind = draw.mixed_layouts ? static_cast<LayoutKind>(local() % kLayoutKinds) : LayoutKind::kContiguous;
    items_.push_back(std::make_unique<Item>(kind, basic, draw.unit, local));
    types_.push_back(items_.back()->type());
  }
  for (std::size_t block = 0; block < elements_.size(); ++block)
    counts_.push_back(static_cast<int>(elements_[block] / item(block).elements()));
  large_counts_.assign(counts_.begin(), counts_.end());

  const std::size_t shift = 16 * (local() % 5);
  const std::size_t data_bytes = spread_out(place, draw, spread);
  bytes_ = kGuardBytes + shift + data_bytes + kGuardBytes;
  origin_ += static_cast<std::ptrdiff_t>(kGuardBytes + shift);
  memory_ = make_memory(place, bytes_, slot, kind_);
  std::memset(memory_->data(), kGuard, bytes_);
  // Null pointers are no arrays.
  displacements_.push_back(0), long_displacements_.push_back(0), counts_.push_back(0), large_counts_.push_back(0);
}

std::size_t BlockBuffer::spread_out(const FuzzPlace& place, const Draw& draw, Spread spread) {
  std::mt19937_64& local = place.local;
  const std::size_t blocks = elements_.size();
  std::vector<std::size_t> order(blocks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (spread != Spread::kRow && local() % 2) std::shuffle(order.begin(), order.end(), local);
  const bool gaps = spread != Spread::kRow && local() % 2;
  starts_.resize(blocks);
  displacements_.resize(blocks);
  long_displacements_.resize(blocks);
  // The first pass is in items or bytes from the lowest byte of all; then the address is put somewhere in between.
  std::vector<MPI_Aint> at(blocks);
  MPI_Aint end = 0;
  for (const std::size_t block : order) {
    const MPI_Aint length = counts_[block];
    if (gaps) end += static_cast<MPI_Aint>(local() % 4);
    at[block] = end;
    end += length;
    if (spread != Spread::kBytes) continue;
    at[block] = (at[block] + kAlignment - 1) / kAlignment * kAlignment;
    end = at[block] + length * item(block).extent();
  }
  MPI_Aint middle = spread == Spread::kRow || local() % 2 ? 0 : static_cast<MPI_Aint>(local() % 8) * end / 8;
  if (spread == Spread::kBytes) middle -= middle % kAlignment;
  // Open MPI's Alltoallw of a single rank takes displacements for extents.
  if (draw.kind == Kind::kAlltoallw && blocks == 1) middle = at[0] - items_.front()->lower_bound();
  const MPI_Aint scale = spread == Spread::kBytes ? 1 : items_.front()->extent();
  for (std::size_t block = 0; block < blocks; ++block) {
    long_displacements_[block] = at[block] - middle;
    if (spread == Spread::kBytes) long_displacements_[block] -= item(block).lower_bound();
    displacements_[block] = static_cast<int>(long_displacements_[block]);
    starts_[block] = long_displacements_[block] * scale;
  }
  origin_ = middle * scale - (spread == Spread::kBytes ? 0 : items_.front()->lower_bound());
  return static_cast<std::size_t>(end * scale);
}

void BlockBuffer::write(char* address, std::size_t block, std::uint64_t seed) const {
  const Item& one = item(block);
  char* start = address + starts_[block];
  for (std::size_t i = 0; i < elements_[block]; ++i) {
    char* element = start + one.place(i);
    for (std::size_t byte = 0; byte < element_bytes_; ++byte) element[byte] = byte_of(seed, i * element_bytes_ + byte);
  }
}

}  // namespace tutti::tests
