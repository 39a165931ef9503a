// Reductions over arrays: one kernel an operator and type, which reads any number of sources in one pass.
//
// The predefined operators and types are those of MPI 4.1, section 6.9.2 ("Predefined Reduction Operations")
// and 6.9.4 (MINLOC and MAXLOC); this layer knows them by its own names and includes no mpi.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reduction/order.h"

namespace tutti::reduction {

/// What one element is. The comment gives the C or Fortran type, or the MPI name of a pair.
enum class Type : std::uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  f80,        // long double, whatever its format on this machine
  c32,        // complex of float
  c64,        // complex of double
  c80,        // complex of long double
  boolean,    // C _Bool and C++ bool, one byte
  logical8,   // Fortran logical of 1 byte: zero is false, anything else true; a result is 0 or 1
  logical16,  // of 2 bytes
  logical32,  // of 4 bytes
  logical64,  // of 8 bytes
  byte,       // MPI_BYTE
  f32_i32,    // MPI_FLOAT_INT
  f64_i32,    // MPI_DOUBLE_INT
  i64_i32,    // MPI_LONG_INT
  i32_i32,    // MPI_2INT
  i16_i32,    // MPI_SHORT_INT
  f80_i32,    // MPI_LONG_DOUBLE_INT
  f32_f32,    // MPI_2REAL
  f64_f64,    // MPI_2DOUBLE_PRECISION
};
inline constexpr int type_count = static_cast<int>(Type::f64_f64) + 1;

enum class Operator : std::uint8_t { max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc };
inline constexpr int operator_count = static_cast<int>(Operator::minloc) + 1;

/// destination[i] = sources[0][i] op sources[1][i] op sources[2][i] op ..., for i below element_count.
///
/// source_count is at least 1; with 1 the source is copied. The order is that of `sources`, combined as `order` says,
/// strictly: the result has the same bits in every call, at every alignment, for every split of the array into calls, and
/// with every instruction set (but for the sign and payload of a NaN that a sum or product makes out of
/// several NaNs, which IEEE 754 leaves open). All pointers may be unaligned. `destination` may be exactly one
/// of the sources; it may not overlap one otherwise. Bytes between the members of an element (the padding of
/// a pair) have no defined value afterwards.
///
/// - max is `a > b ? a : b` and min is `a < b ? a : b`, for floating point too: where the two cannot be
///   ordered (a NaN, or zeros of either sign) the later operand is taken.
/// - Integers wrap. A product of complex numbers is (ac - bd) + (ad + bc)i, each product and sum rounded
///   once: an infinite factor may give NaN where Annex G of the C standard would give infinity.
/// - maxloc and minloc of equal values keep the smaller index; where the values cannot be ordered (a NaN),
///   the later pair.
using Kernel = void (*)(void* destination, const void* const* sources, std::size_t source_count,
                        std::size_t element_count, Order order);

/// The kernel for this machine's processor; nullptr where MPI does not define the operator for the type.
/// Beyond MPI's table, as some MPIs do: land, lor and lxor of floating point, and band, bor and bxor of
/// boolean. The choice of instructions is made here, so keep the pointer rather than ask again.
Kernel kernel(Operator operation, Type type) noexcept;

/// Bytes from one element to the next in an array, padding included.
std::size_t size_of(Type type) noexcept;

}  // namespace tutti::reduction
