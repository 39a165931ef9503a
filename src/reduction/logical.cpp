// MPI_LAND, MPI_LOR and MPI_LXOR: vectors for integers, Boolean types of every size, float and double.
// Anything but zero is true; a result is 0 or 1.
#include "reduction/instruction_set.h"
#include "reduction/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduction/logical.cpp"
#include "hwy/foreach_target.h"
#include "reduction/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::reduction::HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

// Each works on masks of what is false.

struct LogicalAnd {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V zero = hn::Zero(d);
    return hn::IfThenZeroElse(hn::Or(hn::Eq(a, zero), hn::Eq(b, zero)), hn::Set(d, 1));
  }
};

struct LogicalOr {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V zero = hn::Zero(d);
    return hn::IfThenZeroElse(hn::And(hn::Eq(a, zero), hn::Eq(b, zero)), hn::Set(d, 1));
  }
};

struct LogicalXor {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V zero = hn::Zero(d);
    return hn::IfThenElseZero(hn::Xor(hn::Eq(a, zero), hn::Eq(b, zero)), hn::Set(d, 1));
  }
};

template <class Operation, class T>
constexpr Kernel logical_of = reduce<Operation, T, 1>;

#else

using plain::LogicalAnd;
using plain::LogicalOr;
using plain::LogicalXor;

template <class Operation, class T>
constexpr Kernel logical_of = plain::reduce<Operation, T>;

#endif

template <class Operation>
Kernel logical_for(Type type) {
  switch (type) {
    case Type::i8:
    case Type::u8:
    case Type::boolean:
    case Type::logical8:
      return logical_of<Operation, std::uint8_t>;
    case Type::i16:
    case Type::u16:
    case Type::logical16:
      return logical_of<Operation, std::uint16_t>;
    case Type::i32:
    case Type::u32:
    case Type::logical32:
      return logical_of<Operation, std::uint32_t>;
    case Type::i64:
    case Type::u64:
    case Type::logical64:
      return logical_of<Operation, std::uint64_t>;
    case Type::f32:
      return logical_of<Operation, float>;
    case Type::f64:
      return logical_of<Operation, double>;
    default:
      return nullptr;
  }
}

Kernel find_logical(Operator operation, Type type) noexcept {
  switch (operation) {
    case Operator::land:
      return logical_for<LogicalAnd>(type);
    case Operator::lor:
      return logical_for<LogicalOr>(type);
    case Operator::lxor:
      return logical_for<LogicalXor>(type);
    default:
      return nullptr;
  }
}

}  // namespace tutti::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TUTTI_DEFINE_FINDERS(logical)
#endif
