// MPI_PROD: vectors for integers, float, double and complex numbers of these.
#include "reduction/instruction_set.h"
#include "reduction/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduction/product.cpp"
#include "hwy/foreach_target.h"
#include "reduction/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::reduction::HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

// No processor multiplies vectors of bytes: the even and the odd ones as 16 bits, of which the low half is
// kept.
template <class D, class V>
HWY_INLINE V multiply_bytes(D d, V a, V b) {
  const hn::Repartition<std::uint16_t, D> wide;
  const auto a16 = hn::BitCast(wide, a);
  const auto b16 = hn::BitCast(wide, b);
  const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0x00FF));
  const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16)));
  return hn::BitCast(d, hn::Or(even, odd));
}

// 64 bits out of products of 32: the low halves, and the two mixed products, whose upper half falls off the
// end.
template <class D, class V>
HWY_INLINE V multiply_64(D d, V a, V b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
  (void)d;
  return hn::Mul(a, b);
#else
  const hn::Repartition<std::uint32_t, D> half;
  const auto a32 = hn::BitCast(half, a);
  const auto b32 = hn::BitCast(half, b);
  const auto a_upper = hn::BitCast(half, hn::ShiftRight<32>(a));
  const auto b_upper = hn::BitCast(half, hn::ShiftRight<32>(b));
  const auto mixed = hn::Add(hn::MulEven(a_upper, b32), hn::MulEven(a32, b_upper));
  return hn::Add(hn::BitCast(d, hn::MulEven(a32, b32)), hn::ShiftLeft<32>(hn::BitCast(d, mixed)));
#endif
}

struct Product {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 8 && !hwy::IsFloat<hn::TFromD<D>>()) {
      return multiply_64(d, a, b);
    } else {
      (void)d;
      return hn::Mul(a, b);
    }
  }
};

// The product of bytes works on pairs of them; of an odd number the last one stands alone in a vector twice
// as long.
struct ByteProduct {
  static constexpr std::size_t smallest_vector_lanes = 2;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return multiply_bytes(d, a, b);
  }
};

// Real parts stand in the even lanes, imaginary parts in the odd ones.
struct ComplexProduct {
  static constexpr std::size_t smallest_vector_lanes = 2;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V straight = hn::Mul(hn::DupEven(a), b);                 // ac, ad
    const V crossed = hn::Mul(hn::DupOdd(a), hn::Reverse2(d, b));  // bd, bc
    return hn::OddEven(hn::Add(straight, crossed), hn::Sub(straight, crossed));
  }
};

// All bytes but an odd last one go through vectors.
void reduce_byte_products(void* destination, const void* const* sources, std::size_t source_count,
                          std::size_t element_count, Order order) {
  const std::size_t even = element_count & ~std::size_t{1};
  if (even != 0) reduce<ByteProduct, std::uint8_t, 1>(destination, sources, source_count, even, order);
  if (even == element_count) return;
  unsigned result = static_cast<const std::uint8_t*>(sources[0])[even];
  for (std::size_t source = 1; source < source_count; ++source) {
    result = (result * static_cast<const std::uint8_t*>(sources[source])[even]) & 0xFFu;
  }
  static_cast<std::uint8_t*>(destination)[even] = static_cast<std::uint8_t>(result);
}

constexpr Kernel product_of_bytes = reduce_byte_products;
template <class T>
constexpr Kernel product_of = reduce<Product, T, 1>;
template <class T>
constexpr Kernel complex_product_of = reduce<ComplexProduct, T, 2>;

#else

constexpr Kernel product_of_bytes = plain::reduce<plain::Product, std::uint8_t>;
template <class T>
constexpr Kernel product_of = plain::reduce<plain::Product, T>;
template <class T>
constexpr Kernel complex_product_of = plain::reduce<plain::Product, plain::Complex<T>>;

#endif

// The product of signed integers has the low bits of the product of unsigned ones, which may wrap.
Kernel find_product(Operator operation, Type type) noexcept {
  if (operation != Operator::prod) return nullptr;
  switch (type) {
    case Type::i8:
    case Type::u8:
      return product_of_bytes;
    case Type::i16:
    case Type::u16:
      return product_of<std::uint16_t>;
    case Type::i32:
    case Type::u32:
      return product_of<std::uint32_t>;
    case Type::i64:
    case Type::u64:
      return product_of<std::uint64_t>;
    case Type::f32:
      return product_of<float>;
    case Type::f64:
      return product_of<double>;
    case Type::c32:
      return complex_product_of<float>;
    case Type::c64:
      return complex_product_of<double>;
    default:
      return nullptr;
  }
}

}  // namespace tutti::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TUTTI_DEFINE_FINDERS(product)
#endif
