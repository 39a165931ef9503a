// MPI_SUM: vectors for integers, float and double; a complex number is summed as two reals.
#include "reduction/instruction_set.h"
#include "reduction/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduction/sum.cpp"
#include "hwy/foreach_target.h"
#include "reduction/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::reduction::HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

struct Sum {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    return hn::Add(a, b);
  }
};

template <class T, std::size_t kLanesPerElement>
constexpr Kernel sum_of = reduce<Sum, T, kLanesPerElement>;

#else

template <class T, std::size_t kLanesPerElement>
constexpr Kernel sum_of = plain::reduce<plain::Sum, std::conditional_t<kLanesPerElement == 2, plain::Complex<T>, T> >;

#endif

// The sum of signed integers has the bits of the sum of unsigned ones, which may wrap.
Kernel find_sum(Operator operation, Type type) noexcept {
  if (operation != Operator::sum) return nullptr;
  switch (type) {
    case Type::i8:
    case Type::u8:
      return sum_of<std::uint8_t, 1>;
    case Type::i16:
    case Type::u16:
      return sum_of<std::uint16_t, 1>;
    case Type::i32:
    case Type::u32:
      return sum_of<std::uint32_t, 1>;
    case Type::i64:
    case Type::u64:
      return sum_of<std::uint64_t, 1>;
    case Type::f32:
      return sum_of<float, 1>;
    case Type::f64:
      return sum_of<double, 1>;
    case Type::c32:
      return sum_of<float, 2>;
    case Type::c64:
      return sum_of<double, 2>;
    default:
      return nullptr;
  }
}

}  // namespace tutti::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TUTTI_DEFINE_FINDERS(sum)
#endif
