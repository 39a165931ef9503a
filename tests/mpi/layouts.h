// Datatypes with a known place for each of their elements, so that a test can write and check every byte itself.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <random>
#include <vector>

namespace tutti::tests {

enum class LayoutKind {
  kContiguous,  ///< the basic type itself, many of them
  kVector,
  kIndexed,   ///< blocks in ascending places
  kPermuted,  ///< blocks in any order, so that the pieces of a message go backwards in memory
  kResized,   ///< a gap behind each element
  kNegative,  ///< places before the buffer's address, and a lower bound below zero
  kStruct,    ///< nested types
  kSubarray,  ///< of one to three dimensions, in either order
  kNested,    ///< vectors of vectors, also backwards
  kLarge,     ///< made with MPI_Count, if the host has that
};
constexpr int kLayoutKinds = 10;
const char* name_of(LayoutKind kind);

/// `elements` elements of one basic type, somewhere around a buffer's address. Owns its datatype.
class Layout {
 public:
  /// elements: total; at least 1 unless kind is kContiguous. The random numbers decide block lengths and gaps.
  Layout(LayoutKind kind, MPI_Datatype basic, std::size_t elements, std::mt19937_64& random);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  MPI_Datatype type() const { return type_; }
  int count() const { return count_; }
  /// Bytes before the address of the buffer that the layout uses.
  std::size_t bytes_before() const { return bytes_before_; }
  /// Bytes from the address on.
  std::size_t bytes_behind() const { return bytes_behind_; }
  /// Where each element is, in the order of the type signature, in bytes from the address.
  const std::vector<MPI_Aint>& places() const { return places_; }

 private:
  std::vector<MPI_Aint> make_type(LayoutKind kind, std::size_t elements, std::mt19937_64& random);
  std::vector<MPI_Aint> make_blocks(LayoutKind kind, std::size_t elements, std::mt19937_64& random);
  std::vector<MPI_Aint> make_subarray(std::size_t elements, std::mt19937_64& random);
  std::vector<MPI_Aint> make_nested(std::size_t elements, std::mt19937_64& random);
  std::vector<MPI_Aint> make_large(std::size_t elements, std::mt19937_64& random);

  MPI_Datatype basic_;
  MPI_Aint basic_bytes_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool owned_ = true;
  int count_ = 1;
  std::size_t bytes_before_ = 0;
  std::size_t bytes_behind_ = 0;
  std::vector<MPI_Aint> places_;
};

}  // namespace tutti::tests
