// Reductions in plain C++, for what has no vector kernel and for processors without the instructions of one.
// Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduction/order.h"

namespace tutti::reduction::plain {

/// `elements` of a block: `offset` bytes into the sources, to `result`.
template <class Operation, class Element, std::size_t block_elements>
void reduce_in_pairs(Element* result, const void* const* sources, std::size_t source_count, std::size_t offset,
                     std::size_t elements) {
  if (source_count == 1) {
    std::memcpy(result, static_cast<const char*>(sources[0]) + offset, elements * sizeof(Element));
    return;
  }
  const std::size_t half = first_half(source_count);
  reduce_in_pairs<Operation, Element, block_elements>(result, sources, half, offset, elements);
  Element next[block_elements];
  reduce_in_pairs<Operation, Element, block_elements>(next, sources + half, source_count - half, offset, elements);
  for (std::size_t i = 0; i < elements; ++i) result[i] = Operation::apply(result[i], next[i]);
}

/// A Kernel for elements of any trivially copyable type. Operation::apply(a, b) is one step.
///
/// The result of a few hundred bytes at a time is built in a local array: the compiler knows that it overlaps
/// nothing, so it can vectorise the loops, and the destination may be any of the sources.
template <class Operation, class Element>
void reduce(void* destination, const void* const* sources, std::size_t source_count, std::size_t element_count,
            Order order) {
  static_assert(std::is_trivially_copyable_v<Element>);
  constexpr std::size_t block_elements = 1024 / sizeof(Element);
  Element result[block_elements];
  for (std::size_t begin = 0; begin < element_count; begin += block_elements) {
    const std::size_t elements = std::min(block_elements, element_count - begin);
    const std::size_t offset = begin * sizeof(Element);
    const std::size_t bytes = elements * sizeof(Element);
    if (order == Order::in_pairs) {
      reduce_in_pairs<Operation, Element, block_elements>(result, sources, source_count, offset, elements);
    } else {
      Element next[block_elements];
      std::memcpy(result, static_cast<const char*>(sources[0]) + offset, bytes);
      for (std::size_t source = 1; source < source_count; ++source) {
        std::memcpy(next, static_cast<const char*>(sources[source]) + offset, bytes);
        for (std::size_t i = 0; i < elements; ++i) result[i] = Operation::apply(result[i], next[i]);
      }
    }
    std::memcpy(static_cast<char*>(destination) + offset, result, bytes);
  }
}

template <class T>
struct Complex {
  T real;
  T imaginary;
};

// On POWER a long double is a pair of doubles, whose sums and products in their last bits depend on which operand is the
// first. The compiler takes them for commutative, here one way and there the other; it leaves a function that it does not
// look into as it is.
template <class T>
inline constexpr bool is_pair_of_doubles = std::numeric_limits<T>::digits == 106;

template <class T>
[[gnu::noinline]] T sum_of_pairs(T a, T b) {
  return a + b;
}

template <class T>
[[gnu::noinline]] T product_of_pairs(T a, T b) {
  return a * b;
}

template <class T>
auto plus(T a, T b) {
  if constexpr (is_pair_of_doubles<T>) {
    return sum_of_pairs(a, b);
  } else {
    return a + b;
  }
}

template <class T>
auto times(T a, T b) {
  if constexpr (is_pair_of_doubles<T>) {
    return product_of_pairs(a, b);
  } else {
    return a * b;
  }
}

// Integers come here unsigned, so that they wrap. Unsigned types narrower than int are promoted to int, whose
// product could overflow; hence the factor 1u.

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(plus(a, b));
  }
  template <class T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {plus(a.real, b.real), plus(a.imaginary, b.imaginary)};
  }
};

struct Product {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(1u * a * b);
    } else {
      return times(a, b);
    }
  }
  template <class T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {times(a.real, b.real) - times(a.imaginary, b.imaginary),
            plus(times(a.real, b.imaginary), times(a.imaginary, b.real))};
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};

struct Min {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};

struct BitAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct BitOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct BitXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct LogicalAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};

struct LogicalOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) | (b != 0));
  }
};

struct LogicalXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

}  // namespace tutti::reduction::plain
