// The predefined datatypes that can be reduced, with C types behind them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::tests {

/// What MPI's table of predefined reduction operations distinguishes.
enum class Category { kCInteger, kFortranInteger, kFloating, kLogical, kComplex, kByte, kMultiLanguage, kPair };

struct TypeCase {
  std::string name;
  MPI_Datatype type;
  Category category;
  std::size_t bytes;  ///< of one element in memory, padding included
  /// Writes element i of what `rank` contributes: small whole numbers, so that every order of summing is exact.
  void (*fill)(void* buffer, std::size_t count, int rank);
  /// The index of the first element whose value (padding ignored) differs, or count.
  std::size_t (*first_difference)(const void* a, const void* b, std::size_t count);
};

/// All of them that this MPI has.
std::vector<TypeCase> reducible_types();

struct OperationCase {
  std::string name;
  MPI_Op operation;
};

/// The operations that the standard allows on a category.
std::vector<OperationCase> operations_on(Category category);

}  // namespace tutti::tests
