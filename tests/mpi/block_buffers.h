// Buffers of blocks for the collectives that have one block a rank or neighbour: types with gaps, in any order, with
// known values everywhere, so that what must be left alone is compared too.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::tests {

/// Datatypes made of ints, 1 or 2 in each element.
class BlockTypes {
 public:
  BlockTypes();
  ~BlockTypes();
  BlockTypes(const BlockTypes&) = delete;
  BlockTypes& operator=(const BlockTypes&) = delete;

  struct Kind {
    const char* name;
    MPI_Datatype type;
    int ints;         ///< of data in an element
    int extent_ints;  ///< from one element to the next
    int places[2];    ///< of the data, in ints from the element's beginning
  };
  const Kind& operator[](int i) const { return kinds_[static_cast<std::size_t>(i) % kinds_.size()]; }
  int count() const { return static_cast<int>(kinds_.size()); }

 private:
  std::vector<Kind> kinds_;
};

/// One side of a call. Block b has sizes[b] ints of data (even numbers), each block of its own kind.
struct BlockBuffer {
  std::vector<const BlockTypes::Kind*> kinds;
  std::vector<int> counts;            ///< elements
  std::vector<int> displacements;     ///< in extents; of use if all kinds are one
  std::vector<MPI_Aint> byte_places;  ///< displacements in bytes
  std::vector<int> memory;
  int first = 0;  ///< index in `memory` of what the call's buffer argument points to

  /// Blocks one behind the other: for calls with one count.
  static BlockBuffer regular(const BlockTypes::Kind& kind, int blocks, int ints);
  /// Blocks with gaps between them, the later ones first.
  static BlockBuffer irregular(const std::vector<const BlockTypes::Kind*>& kinds, const std::vector<int>& ints);
  static BlockBuffer irregular(const BlockTypes::Kind& kind, const std::vector<int>& ints) {
    return irregular(std::vector<const BlockTypes::Kind*>(ints.size(), &kind), ints);
  }

  /// Gives every int of the memory, gaps too, a value that depends on `salt`.
  void fill(int salt);
  int* data() { return memory.data() + first; }
  int count() const { return counts.empty() ? 0 : counts[0]; }
  MPI_Datatype type() const { return kinds[0]->type; }
  /// The i-th int of data of block b.
  int& value(std::size_t b, int i);
  std::vector<MPI_Datatype> types() const;
  std::vector<int> byte_displacements() const;
};

/// Whether Tutti carried out this thread's last collective.
bool last_was_ours();

/// The sizes of blocks, in ints, that tests go through.
std::vector<int> block_sizes(bool few);

}  // namespace tutti::tests
