// What a datatype was made of (MPI 4.1, section 5.1.13), by whichever of the constructors, those with MPI_Count included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/host.h"

namespace tutti::mpi {

/// Of a constructor the arguments. The types among them are freed at the end, those excepted that must not be.
class TypeContents {
 public:
  explicit TypeContents(MPI_Datatype datatype);
  ~TypeContents();
  TypeContents(const TypeContents&) = delete;
  TypeContents& operator=(const TypeContents&) = delete;

  /// MPI_COMBINER_NAMED if there is none, or nothing is found out: then there are no arguments.
  int combiner() const { return combiner_; }
  /// How many, how long and, in elements, how far apart, in the order of the arguments. Of a subarray the dimensions, sizes,
  /// sizes of the part, its beginnings, and the order.
  std::int64_t number(std::size_t i) const { return numbers_[i]; }
  /// In bytes, in the order of the arguments.
  MPI_Aint displacement(std::size_t i) const { return displacements_[i]; }
  MPI_Datatype type(std::size_t i = 0) const { return types_[i]; }

 private:
  void sort(const std::vector<int>& integers, const std::vector<MPI_Count>& counts);

  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> numbers_;
  std::vector<MPI_Aint> displacements_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace tutti::mpi
