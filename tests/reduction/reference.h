// What the kernels are compared with: arrays of every type, and the definition of every operator, one element
// at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "reduction/instruction_set.h"
#include "reduction/pairs.h"
#include "reduction/reduction.h"

namespace tutti::reduction::test {

using Bytes = std::vector<unsigned char>;

inline std::string name_of(Operator operation) {
  static const char* const names[] = {"max", "min", "sum",  "prod", "land",   "band",
                                      "lor", "bor", "lxor", "bxor", "maxloc", "minloc"};
  return names[static_cast<int>(operation)];
}

inline std::string name_of(Type type) {
  static const char* const names[] = {
      "i8",      "i16",     "i32",     "i64",     "u8",      "u16",      "u32",       "u64",       "f32",       "f64",
      "f80",     "c32",     "c64",     "c80",     "bool",    "logical8", "logical16", "logical32", "logical64", "byte",
      "f32_i32", "f64_i32", "i64_i32", "i32_i32", "i16_i32", "f80_i32",  "f32_f32",   "f64_f64"};
  return names[static_cast<int>(type)];
}

inline std::string name_of(InstructionSet set) {
  static const char* const names[] = {"baseline", "sse4", "avx2", "avx512", "neon", "sve", "sve2"};
  return names[static_cast<int>(set)];
}

/// A logical is an unsigned integer, but of a type of its own: its values are zero and anything else.
template <class T>
struct Logical {
  T value;
};

template <class>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class>
inline constexpr bool is_pair = false;
template <class V, class I>
inline constexpr bool is_pair<Pair<V, I>> = true;
template <class>
inline constexpr bool is_logical = false;
template <class T>
inline constexpr bool is_logical<Logical<T>> = true;

/// Calls function.operator()<Element>() with the C++ type of an element.
template <class Function>
auto with_element(Type type, Function function) {
  switch (type) {
    case Type::i8:
      return function.template operator()<std::int8_t>();
    case Type::i16:
      return function.template operator()<std::int16_t>();
    case Type::i32:
      return function.template operator()<std::int32_t>();
    case Type::i64:
      return function.template operator()<std::int64_t>();
    case Type::u8:
    case Type::byte:
      return function.template operator()<std::uint8_t>();
    case Type::u16:
      return function.template operator()<std::uint16_t>();
    case Type::u32:
      return function.template operator()<std::uint32_t>();
    case Type::u64:
      return function.template operator()<std::uint64_t>();
    case Type::f32:
      return function.template operator()<float>();
    case Type::f64:
      return function.template operator()<double>();
    case Type::f80:
      return function.template operator()<long double>();
    case Type::c32:
      return function.template operator()<std::complex<float>>();
    case Type::c64:
      return function.template operator()<std::complex<double>>();
    case Type::c80:
      return function.template operator()<std::complex<long double>>();
    case Type::boolean:
      return function.template operator()<bool>();
    case Type::logical8:
      return function.template operator()<Logical<std::uint8_t>>();
    case Type::logical16:
      return function.template operator()<Logical<std::uint16_t>>();
    case Type::logical32:
      return function.template operator()<Logical<std::uint32_t>>();
    case Type::logical64:
      return function.template operator()<Logical<std::uint64_t>>();
    case Type::f32_i32:
      return function.template operator()<PairF32I32>();
    case Type::f64_i32:
      return function.template operator()<PairF64I32>();
    case Type::i64_i32:
      return function.template operator()<PairI64I32>();
    case Type::i32_i32:
      return function.template operator()<PairI32I32>();
    case Type::i16_i32:
      return function.template operator()<PairI16I32>();
    case Type::f80_i32:
      return function.template operator()<PairF80I32>();
    case Type::f32_f32:
      return function.template operator()<PairF32F32>();
    case Type::f64_f64:
      return function.template operator()<PairF64F64>();
  }
  throw std::logic_error("a type without an element");
}

using Random = std::mt19937_64;

/// A value that is extreme, special, small or arbitrary, each often.
template <class T>
T random_value(Random& random) {
  const unsigned kind = random() % 8;
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 != 0;
  } else if constexpr (is_logical<T>) {
    using Word = decltype(T::value);
    return {kind < 3 ? Word{0} : kind < 5 ? Word{1} : static_cast<Word>(random())};
  } else if constexpr (is_complex<T>) {
    using Part = typename T::value_type;
    return {random_value<Part>(random), random_value<Part>(random)};
  } else if constexpr (is_pair<T>) {
    T pair{};
    pair.value = static_cast<decltype(pair.value)>(static_cast<int>(random() % 5) - 2);  // ties are the point
    if (kind == 0) pair.value = random_value<decltype(pair.value)>(random);
    pair.index = static_cast<decltype(pair.index)>(random() % 100);
    return pair;
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (kind) {
      case 0:
        return static_cast<T>(0.0);
      case 1:
        return static_cast<T>(-0.0);
      case 2:
        return random() % 16 == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(1.5);
      case 3:
        return random() % 16 == 0 ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
      default:
        return static_cast<T>(static_cast<double>(random()) * 1e-16 - 500.0) / static_cast<T>(3);
    }
  } else {
    switch (kind) {
      case 0:
        return 0;
      case 1:
        return std::numeric_limits<T>::max();
      case 2:
        return std::numeric_limits<T>::min();
      case 3:
        return static_cast<T>(random() % 5);
      default:
        return static_cast<T>(random());
    }
  }
}

/// An array of `count` elements as bytes. Padding is zero.
inline Bytes random_array(Type type, std::size_t count, Random& random) {
  Bytes array(count * size_of(type));
  with_element(type, [&]<class T>() {
    for (std::size_t i = 0; i < count; ++i) {
      const T value = random_value<T>(random);
      std::memcpy(array.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return array;
}

/// A number as zero-or-not, for the logical operators.
template <class T>
bool truth(T value) {
  if constexpr (is_logical<T>) {
    return value.value != 0;
  } else {
    return value != T{};
  }
}

/// One step of an integer operator, in 64 bits, of which the result keeps the lower ones.
template <class T>
T integer_step(Operator operation, T a, T b) {
  const auto wide_a = static_cast<std::uint64_t>(a);
  const auto wide_b = static_cast<std::uint64_t>(b);
  switch (operation) {
    case Operator::max:
      return b < a ? a : b;
    case Operator::min:
      return a < b ? a : b;
    case Operator::sum:
      return static_cast<T>(wide_a + wide_b);
    case Operator::prod: {
      const std::uint64_t product = wide_a * wide_b;
      return static_cast<T>(product);
    }
    case Operator::band:
      return static_cast<T>(wide_a & wide_b);
    case Operator::bor:
      return static_cast<T>(wide_a | wide_b);
    case Operator::bxor:
      return static_cast<T>(wide_a ^ wide_b);
    default:
      throw std::logic_error("not an integer operator");
  }
}

/// A function of its own: the compiler takes sums and products for commutative, and those of POWER's long double are not.
template <class T>
[[gnu::noinline]] T floating_step(Operator operation, T a, T b) {
  switch (operation) {
    case Operator::max:
      return a > b ? a : b;
    case Operator::min:
      return a < b ? a : b;
    case Operator::sum:
      return a + b;
    case Operator::prod:
      return a * b;
    default:
      throw std::logic_error("not a floating-point operator");
  }
}

/// Written out, since std::complex multiplies by Annex G; by functions, so that no product and sum are fused.
template <class T>
std::complex<T> complex_step(Operator operation, std::complex<T> a, std::complex<T> b) {
  const auto sum = [](T x, T y) { return floating_step(Operator::sum, x, y); };
  const auto product = [](T x, T y) { return floating_step(Operator::prod, x, y); };
  if (operation == Operator::sum) return {sum(a.real(), b.real()), sum(a.imag(), b.imag())};
  if (operation != Operator::prod) throw std::logic_error("not a complex operator");
  return {product(a.real(), b.real()) - product(a.imag(), b.imag()),
          sum(product(a.real(), b.imag()), product(a.imag(), b.real()))};
}

template <class P>
P pair_step(Operator operation, P a, P b) {
  if (a.value == b.value) {
    a.index = std::min(a.index, b.index);
    return a;
  }
  const bool first_wins = operation == Operator::maxloc ? a.value > b.value : a.value < b.value;
  return first_wins ? a : b;
}

template <class T>
T step(Operator operation, T a, T b) {
  if constexpr (is_pair<T>) {
    return pair_step(operation, a, b);
  } else if constexpr (is_complex<T>) {
    return complex_step(operation, a, b);
  } else {
    auto as_element = [](bool value) {
      if constexpr (is_logical<T>) {
        return T{static_cast<decltype(T::value)>(value)};
      } else {
        return static_cast<T>(value);
      }
    };
    if (operation == Operator::land) return as_element(truth(a) && truth(b));
    if (operation == Operator::lor) return as_element(truth(a) || truth(b));
    if (operation == Operator::lxor) return as_element(truth(a) != truth(b));
    if constexpr (std::is_floating_point_v<T>) {
      return floating_step(operation, a, b);
    } else if constexpr (std::is_integral_v<T>) {
      return integer_step(operation, a, b);
    } else {
      throw std::logic_error("not a logical operator");
    }
  }
}

/// A bool, too, has an address in a vector of these.
template <class T>
struct Value {
  T of;
};

/// Of values in the order given what `step` makes of them.
template <class T, class Step>
T combined(std::vector<T> values, Order order, const Step& step) {
  std::size_t pairs = values.size() - std::bit_floor(values.size());
  if (order == Order::in_sequence) pairs = 1;
  while (values.size() > 1) {
    std::vector<T> next;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool first_of_pair = next.size() < pairs && i + 1 < values.size();
      next.push_back(first_of_pair ? step(values[i], values[i + 1]) : values[i]);
      i += first_of_pair;
    }
    values = next;
    if (order == Order::in_pairs) pairs = values.size() / 2;
  }
  return values[0];
}

/// The result of `count` elements of each source, by definition.
inline Bytes expected(Operator operation, Type type, const std::vector<Bytes>& sources, std::size_t count,
                      Order order) {
  Bytes result(count * size_of(type));
  with_element(type, [&]<class T>() {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Value<T>> values(sources.size());
      for (std::size_t source = 0; source < sources.size(); ++source)
        std::memcpy(&values[source].of, sources[source].data() + i * sizeof(T), sizeof(T));
      const T value = combined(values, order, [&](const Value<T>& a, const Value<T>& b) {
                        return Value<T>{step(operation, a.of, b.of)};
                      }).of;
      std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return result;
}

/// Whether two numbers have the same bits. long double has padding, hence its value and sign. With `any_nan`,
/// one NaN is as good as another.
template <class T>
bool same_number(T a, T b, bool any_nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) {
      if (any_nan || std::is_same_v<T, long double>) return a != a && b != b;
    }
    if constexpr (std::is_same_v<T, long double>) return a == b && std::signbit(a) == std::signbit(b);
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
bool same_element(T a, T b, bool any_nan) {
  if constexpr (is_pair<T>) {
    return same_number(a.value, b.value, any_nan) && same_number(a.index, b.index, any_nan);
  } else if constexpr (is_complex<T>) {
    return same_number(a.real(), b.real(), any_nan) && same_number(a.imag(), b.imag(), any_nan);
  } else {
    return same_number(a, b, any_nan);
  }
}

/// Which NaN a sum or product of several NaNs gives is left open; every other operator selects or makes bits.
inline bool any_nan_will_do(Operator operation) {
  return operation == Operator::sum || operation == Operator::prod;
}

/// The first element that differs, or `count` if the arrays are the same.
inline std::size_t first_difference(Operator operation, Type type, const unsigned char* a, const unsigned char* b,
                                    std::size_t count) {
  return with_element(type, [&]<class T>() {
    for (std::size_t i = 0; i < count; ++i) {
      T left;
      T right;
      std::memcpy(&left, a + i * sizeof(T), sizeof(T));
      std::memcpy(&right, b + i * sizeof(T), sizeof(T));
      if (!same_element(left, right, any_nan_will_do(operation))) return i;
    }
    return count;
  });
}

}  // namespace tutti::reduction::test
