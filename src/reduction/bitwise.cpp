// MPI_BAND, MPI_BOR and MPI_BXOR: vectors of bytes, whatever the element.
#include "reduction/instruction_set.h"
#include "reduction/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduction/bitwise.cpp"
#include "hwy/foreach_target.h"
#include "reduction/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::reduction::HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

struct BitAnd {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    return hn::And(a, b);
  }
};

struct BitOr {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    return hn::Or(a, b);
  }
};

struct BitXor {
  static constexpr std::size_t smallest_vector_lanes = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    return hn::Xor(a, b);
  }
};

template <class Operation>
HWY_NOINLINE void reduce_bytes(void* destination, const void* const* sources, std::size_t source_count,
                               std::size_t bytes, Order order) {
  reduce<Operation, std::uint8_t, 1>(destination, sources, source_count, bytes, order);
}

template <class Operation, std::size_t kElementBytes>
void bitwise_of(void* destination, const void* const* sources, std::size_t source_count, std::size_t element_count,
                Order order) {
  reduce_bytes<Operation>(destination, sources, source_count, element_count * kElementBytes, order);
}

#else

using plain::BitAnd;
using plain::BitOr;
using plain::BitXor;

template <class Operation, std::size_t kElementBytes>
void bitwise_of(void* destination, const void* const* sources, std::size_t source_count, std::size_t element_count,
                Order order) {
  plain::reduce<Operation, std::uint8_t>(destination, sources, source_count, element_count * kElementBytes, order);
}

#endif

template <class Operation>
Kernel bitwise_for(Type type) {
  switch (type) {
    case Type::i8:
    case Type::u8:
    case Type::boolean:
    case Type::byte:
      return bitwise_of<Operation, 1>;
    case Type::i16:
    case Type::u16:
      return bitwise_of<Operation, 2>;
    case Type::i32:
    case Type::u32:
      return bitwise_of<Operation, 4>;
    case Type::i64:
    case Type::u64:
      return bitwise_of<Operation, 8>;
    default:
      return nullptr;
  }
}

Kernel find_bitwise(Operator operation, Type type) noexcept {
  switch (operation) {
    case Operator::band:
      return bitwise_for<BitAnd>(type);
    case Operator::bor:
      return bitwise_for<BitOr>(type);
    case Operator::bxor:
      return bitwise_for<BitXor>(type);
    default:
      return nullptr;
  }
}

}  // namespace tutti::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TUTTI_DEFINE_FINDERS(bitwise)
#endif
