// The kernels that exist in plain C++ only: those of pairs and of long double.
#include "reduction/instruction_set.h"
#include "reduction/pairs.h"
#include "reduction/plain.h"

namespace tutti::reduction {

namespace {

// Of equal values the smaller index; a value that cannot be ordered against the other (NaN) lets the later
// pair win.
template <class Better>
struct Location {
  template <class P>
  static P apply(P a, P b) {
    if (a.value == b.value) return {a.value, b.index < a.index ? b.index : a.index};
    return Better::first(a.value, b.value) ? a : b;
  }
};

struct Larger {
  template <class T>
  static bool first(T a, T b) {
    return a > b;
  }
};

struct Smaller {
  template <class T>
  static bool first(T a, T b) {
    return a < b;
  }
};

template <class Operation>
Kernel location_of(Type type) {
  switch (type) {
    case Type::f32_i32:
      return plain::reduce<Operation, PairF32I32>;
    case Type::f64_i32:
      return plain::reduce<Operation, PairF64I32>;
    case Type::i64_i32:
      return plain::reduce<Operation, PairI64I32>;
    case Type::i32_i32:
      return plain::reduce<Operation, PairI32I32>;
    case Type::i16_i32:
      return plain::reduce<Operation, PairI16I32>;
    case Type::f80_i32:
      return plain::reduce<Operation, PairF80I32>;
    case Type::f32_f32:
      return plain::reduce<Operation, PairF32F32>;
    case Type::f64_f64:
      return plain::reduce<Operation, PairF64F64>;
    default:
      return nullptr;
  }
}

}  // namespace

Kernel location_kernel(Operator operation, Type type) noexcept {
  switch (operation) {
    case Operator::maxloc:
      return location_of<Location<Larger>>(type);
    case Operator::minloc:
      return location_of<Location<Smaller>>(type);
    default:
      return nullptr;
  }
}

Kernel extended_kernel(Operator operation, Type type) noexcept {
  using ComplexF80 = plain::Complex<long double>;
  if (type == Type::f80) {
    switch (operation) {
      case Operator::max:
        return plain::reduce<plain::Max, long double>;
      case Operator::min:
        return plain::reduce<plain::Min, long double>;
      case Operator::sum:
        return plain::reduce<plain::Sum, long double>;
      case Operator::prod:
        return plain::reduce<plain::Product, long double>;
      case Operator::land:
        return plain::reduce<plain::LogicalAnd, long double>;
      case Operator::lor:
        return plain::reduce<plain::LogicalOr, long double>;
      case Operator::lxor:
        return plain::reduce<plain::LogicalXor, long double>;
      default:
        return nullptr;
    }
  }
  if (type == Type::c80 && operation == Operator::sum) return plain::reduce<plain::Sum, ComplexF80>;
  if (type == Type::c80 && operation == Operator::prod) return plain::reduce<plain::Product, ComplexF80>;
  return nullptr;
}

}  // namespace tutti::reduction
