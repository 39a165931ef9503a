// A buffer of blocks, one for each rank or neighbour, as the collectives with many blocks take them.
#pragma once

#include "fuzz.h"

namespace tutti::tests {

/// One item of a datatype that this rank uses for its blocks: some elements of the basic type, anywhere.
class Item {
 public:
  /// unit: a multiple of the elements that the item will have.
  Item(LayoutKind kind, MPI_Datatype basic, std::size_t unit, std::mt19937_64& random);

  MPI_Datatype type() const { return layout_.type(); }
  std::size_t elements() const { return elements_; }
  MPI_Aint extent() const { return extent_; }
  MPI_Aint lower_bound() const { return lower_bound_; }
  /// Of element i of a row of items, in bytes from the row's address.
  MPI_Aint place(std::size_t i) const {
    return static_cast<MPI_Aint>(i / elements_) * extent_ + layout_.places()[i % elements_];
  }

 private:
  Layout layout_;
  std::size_t elements_;
  MPI_Aint extent_ = 0;
  MPI_Aint lower_bound_ = 0;
};

/// How a collective lets the blocks lie.
enum class Spread {
  kRow,            ///< one behind the other
  kDisplacements,  ///< anywhere, in extents of the one type
  kBytes,          ///< anywhere, in bytes, and each with a type of its own
};

/// Blocks in memory of some kind, with bytes around and between them that nobody may touch.
class BlockBuffer {
 public:
  /// elements: of each block, in elements of the basic type, multiples of draw.unit. slot: as of Memory.
  BlockBuffer(const FuzzPlace& place, const Draw& draw, MPI_Datatype basic, std::size_t element_bytes,
              std::vector<std::size_t> elements, Spread spread, int slot);

  char* address() const { return memory_->data() + origin_; }
  /// The same address in a copy of the memory.
  char* address_in(std::vector<char>& image) const { return image.data() + origin_; }
  std::ptrdiff_t origin() const { return origin_; }
  const char* memory() const { return memory_->data(); }
  /// A copy of the memory, from guard to guard.
  std::vector<char> image() const { return {memory_->data(), memory_->data() + bytes_}; }
  Place kind() const { return kind_; }

  /// Writes the message with this seed into a block of the buffer that lies at `address`.
  void write(char* address, std::size_t block, std::uint64_t seed) const;

  int count(std::size_t block = 0) const { return block < counts_.size() ? counts_[block] : 0; }
  MPI_Datatype type() const { return types_.front(); }
  const int* counts() const { return counts_.data(); }
  const int* displacements() const { return displacements_.data(); }
  const MPI_Aint* long_displacements() const { return long_displacements_.data(); }
  const MPI_Count* large_counts() const { return large_counts_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }

 private:
  /// Sets `starts_` (of each block's items) and returns the bytes from the first to the last of them.
  std::size_t spread_out(const FuzzPlace& place, const Draw& draw, Spread spread);
  const Item& item(std::size_t block) const { return *items_[items_.size() == 1 ? 0 : block]; }

  std::size_t element_bytes_;
  std::vector<std::size_t> elements_;
  std::vector<std::unique_ptr<Item>> items_;  ///< one, or one a block
  std::vector<std::ptrdiff_t> starts_;        ///< of the address that a block's displacement means, from `address()`
  std::vector<int> counts_;
  std::vector<int> displacements_;
  std::vector<MPI_Aint> long_displacements_;
  std::vector<MPI_Count> large_counts_;
  std::vector<MPI_Datatype> types_;
  std::ptrdiff_t origin_ = 0;
  std::size_t bytes_ = 0;
  Place kind_ = Place::kHeapSmall;
  std::unique_ptr<Memory> memory_;
};

}  // namespace tutti::tests
