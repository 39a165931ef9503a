// Operators that a program makes itself.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace tutti::tests {

/// Matrices of 2 x 2 numbers modulo 2^32. Their product does not commute, so it shows the order of combination.
struct Matrix {
  std::uint32_t at[4];
  bool operator==(const Matrix&) const = default;
};
Matrix operator*(const Matrix& left, const Matrix& right);
/// A matrix that depends on the rank and the element's number.
Matrix matrix_of(int rank, std::size_t i);
/// matrix_of(0, i) * ... * matrix_of(ranks-1, i): what the standard says a reduction yields.
Matrix product_of_ranks(int ranks, std::size_t i);

/// inout = in * inout, elementwise, on matrices.
void multiply_matrices(void* in, void* inout, int* count, MPI_Datatype* type);
/// inout = in + 3 * in * inout + inout modulo 2^32 on single uint32_t: commutative and associative.
void combine_numbers(void* in, void* inout, int* count, MPI_Datatype* type);
std::uint32_t combine_two(std::uint32_t a, std::uint32_t b);

/// The datatype of a Matrix: four MPI_UINT32_T. Free it.
MPI_Datatype make_matrix_type();

}  // namespace tutti::tests
