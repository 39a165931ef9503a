#include "reduction/members.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduction/pairs.h"
#include "reduction/plain.h"

namespace tutti::reduction {

namespace {

/// Bytes of an element, without a gap.
struct Span {
  std::size_t begin, bytes;
  constexpr std::size_t end() const { return begin + bytes; }
};

/// x87 numbers of 80 bits are stored as 10 bytes of 12 or 16.
constexpr std::size_t long_double_bytes = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);

template <std::size_t element_bytes, Span... spans>
void copy_spans(void* destination, const void* source, std::size_t element_count) {
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  for (; element_count > 0; --element_count, to += element_bytes, from += element_bytes)
    (std::memcpy(to + spans.begin, from + spans.begin, spans.bytes), ...);
}

using Copy = void (*)(void* destination, const void* source, std::size_t element_count);

/// Of an element whose members are where these are; nullptr if they leave no gap.
template <class Element, Span first, Span second>
constexpr Copy copy_of() {
  if constexpr (first.bytes + second.bytes == sizeof(Element)) {
    return nullptr;
  } else if constexpr (first.end() == second.begin) {
    return copy_spans<sizeof(Element), Span{first.begin, first.bytes + second.bytes}>;
  } else {
    return copy_spans<sizeof(Element), first, second>;
  }
}

template <class P>
constexpr Copy copy_of_pair() {
  constexpr std::size_t value_bytes =
      std::is_same_v<decltype(P::value), long double> ? long_double_bytes : sizeof(P::value);
  return copy_of<P, Span{offsetof(P, value), value_bytes}, Span{offsetof(P, index), sizeof(P::index)}>();
}

/// nullptr for elements without gaps.
Copy copy_for(Type type) noexcept {
  using ComplexF80 = plain::Complex<long double>;
  switch (type) {
    case Type::f80:
      return copy_of<long double, Span{0, long_double_bytes}, Span{long_double_bytes, 0}>();
    case Type::c80:
      return copy_of<ComplexF80, Span{offsetof(ComplexF80, real), long_double_bytes},
                     Span{offsetof(ComplexF80, imaginary), long_double_bytes}>();
    case Type::f32_i32:
      return copy_of_pair<PairF32I32>();
    case Type::f64_i32:
      return copy_of_pair<PairF64I32>();
    case Type::i64_i32:
      return copy_of_pair<PairI64I32>();
    case Type::i32_i32:
      return copy_of_pair<PairI32I32>();
    case Type::i16_i32:
      return copy_of_pair<PairI16I32>();
    case Type::f80_i32:
      return copy_of_pair<PairF80I32>();
    case Type::f32_f32:
      return copy_of_pair<PairF32F32>();
    case Type::f64_f64:
      return copy_of_pair<PairF64F64>();
    default:
      return nullptr;
  }
}

}  // namespace

bool has_gaps(Type type) noexcept {
  return copy_for(type) != nullptr;
}

void copy_members(Type type, void* destination, const void* source, std::size_t element_count) noexcept {
  if (const Copy copy = copy_for(type))
    copy(destination, source, element_count);
  else
    std::memcpy(destination, source, element_count * size_of(type));
}

}  // namespace tutti::reduction
