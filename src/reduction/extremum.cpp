// MPI_MAX and MPI_MIN: vectors for integers, float and double.
#include "reduction/instruction_set.h"
#include "reduction/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduction/extremum.cpp"
#include "hwy/foreach_target.h"
#include "reduction/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::reduction::HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

// Floating point: a > b ? a : b is what the instruction of x86 does, NaN and signed zeros included. Arm's
// instruction does something else with these, so there it is a comparison and a selection.

struct Max {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    if constexpr (HWY_ARCH_X86 || !hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Max(a, b);
    } else {
      return hn::IfThenElse(hn::Gt(a, b), a, b);
    }
  }
};

struct Min {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    if constexpr (HWY_ARCH_X86 || !hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Min(a, b);
    } else {
      return hn::IfThenElse(hn::Lt(a, b), a, b);
    }
  }
};

template <class Operation, class T>
constexpr Kernel extremum_of = reduce<Operation, T, 1>;

#else

using plain::Max;
using plain::Min;

template <class Operation, class T>
constexpr Kernel extremum_of = plain::reduce<Operation, T>;

#endif

template <class Operation>
Kernel extremum_for(Type type) {
  switch (type) {
    case Type::i8:
      return extremum_of<Operation, std::int8_t>;
    case Type::i16:
      return extremum_of<Operation, std::int16_t>;
    case Type::i32:
      return extremum_of<Operation, std::int32_t>;
    case Type::i64:
      return extremum_of<Operation, std::int64_t>;
    case Type::u8:
      return extremum_of<Operation, std::uint8_t>;
    case Type::u16:
      return extremum_of<Operation, std::uint16_t>;
    case Type::u32:
      return extremum_of<Operation, std::uint32_t>;
    case Type::u64:
      return extremum_of<Operation, std::uint64_t>;
    case Type::f32:
      return extremum_of<Operation, float>;
    case Type::f64:
      return extremum_of<Operation, double>;
    default:
      return nullptr;
  }
}

Kernel find_extremum(Operator operation, Type type) noexcept {
  switch (operation) {
    case Operator::max:
      return extremum_for<Max>(type);
    case Operator::min:
      return extremum_for<Min>(type);
    default:
      return nullptr;
  }
}

}  // namespace tutti::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TUTTI_DEFINE_FINDERS(extremum)
#endif
