#include "user_operations.h"

#include <cstddef>
#include <cstring>

namespace tutti::tests {

Matrix operator*(const Matrix& left, const Matrix& right) {
  const auto& a = left.at;
  const auto& b = right.at;
  return {{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]}};
}

Matrix matrix_of(int rank, std::size_t i) {
  const auto r = static_cast<std::uint32_t>(rank);
  const auto n = static_cast<std::uint32_t>(i);
  return {{r + 1, n + 2, n * 5 + 3, r * 7 + 1}};
}

Matrix product_of_ranks(int ranks, std::size_t i) {
  Matrix product = matrix_of(0, i);
  for (int rank = 1; rank < ranks; ++rank) product = product * matrix_of(rank, i);
  return product;
}

void multiply_matrices(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* left = static_cast<const Matrix*>(in);
  auto* right = static_cast<Matrix*>(inout);
  for (int i = 0; i < *count; ++i) right[i] = left[i] * right[i];
}

std::uint32_t combine_two(std::uint32_t a, std::uint32_t b) {
  return a + 3u * a * b + b;
}

void combine_numbers(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, static_cast<char*>(in) + static_cast<std::size_t>(i) * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<char*>(inout) + static_cast<std::size_t>(i) * sizeof b, sizeof b);
    b = combine_two(a, b);
    std::memcpy(static_cast<char*>(inout) + static_cast<std::size_t>(i) * sizeof b, &b, sizeof b);
  }
}

MPI_Datatype make_matrix_type() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(4, MPI_UINT32_T, &type);
  PMPI_Type_commit(&type);
  return type;
}

}  // namespace tutti::tests
