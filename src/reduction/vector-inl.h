// The loops of the vector kernels, compiled once a target: no include guard in the usual sense, see Highway's
// foreach_target.h. Internal.
#if defined(TUTTI_REDUCTION_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCTION_VECTOR_INL_H
#undef TUTTI_REDUCTION_VECTOR_INL_H
#else
#define TUTTI_REDUCTION_VECTOR_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "reduction/plain.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::reduction::HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

namespace hn = hwy::HWY_NAMESPACE;

// Memory is read and written as bytes: nothing is said about the alignment of an element, nor about its type.

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const void* source, std::size_t offset_bytes) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, static_cast<const std::uint8_t*>(source) + offset_bytes));
}

template <class D>
HWY_INLINE void store(D /*d*/, hn::Vec<D> vector, void* destination, std::size_t offset_bytes) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, vector), bytes, static_cast<std::uint8_t*>(destination) + offset_bytes);
}

// The compiler may not move a store past this. No instruction comes of it.
HWY_INLINE void keep_order() {
  asm volatile("" ::: "memory");
}

// One array of one call: bytes from `begin` up to `end` of each source are to be reduced.
struct Call {
  void* destination;
  const void* const* sources;
  std::size_t source_count;
  std::size_t end_bytes;
  Order order;
};

// A vector of what a number of sources that the compiler knows come to in pairs.
template <class Operation, std::size_t kSources, class D>
HWY_INLINE hn::Vec<D> few_in_pairs(D d, const void* const* sources, std::size_t offset) {
  if constexpr (kSources == 1) {
    return load(d, sources[0], offset);
  } else {
    constexpr std::size_t kHalf = first_half(kSources);
    const auto first = few_in_pairs<Operation, kHalf>(d, sources, offset);
    return Operation::apply(d, first, few_in_pairs<Operation, kSources - kHalf>(d, sources + kHalf, offset));
  }
}

// The same of any number from 2 on.
template <class Operation, class D>
HWY_NOINLINE hn::Vec<D> many_in_pairs(D d, const void* const* sources, std::size_t source_count, std::size_t offset) {
  switch (source_count) {
    case 2:
      return few_in_pairs<Operation, 2>(d, sources, offset);
    case 3:
      return few_in_pairs<Operation, 3>(d, sources, offset);
    case 4:
      return few_in_pairs<Operation, 4>(d, sources, offset);
    case 8:
      return few_in_pairs<Operation, 8>(d, sources, offset);
    default:
      const std::size_t half = first_half(source_count);
      const auto first = many_in_pairs<Operation>(d, sources, half, offset);
      return Operation::apply(d, first, many_in_pairs<Operation>(d, sources + half, source_count - half, offset));
  }
}

// One vector of the result, `offset` bytes into the arrays. All sources are read before it is written, here
// and below: the destination may be one of them.
template <class Operation, class D>
HWY_INLINE void reduce_vector(D d, const void* const* sources, std::size_t source_count, void* destination,
                              std::size_t offset) {
  auto result = load(d, sources[0], offset);
  for (std::size_t source = 1; source < source_count; ++source) {
    result = Operation::apply(d, result, load(d, sources[source], offset));
  }
  store(d, result, destination, offset);
}

// The same of any number, in either order. Of up to three sources these are the same.
template <class Operation, class D>
HWY_INLINE void reduce_vector(D d, const Call& call, std::size_t offset) {
  if (call.order == Order::in_pairs && call.source_count > 3) {
    store(d, many_in_pairs<Operation>(d, call.sources, call.source_count, offset), call.destination, offset);
  } else {
    reduce_vector<Operation>(d, call.sources, call.source_count, call.destination, offset);
  }
}

// What is shorter than a vector: half a vector if that much is left, then a quarter, and so on. These are the
// same operations as in the loops above it, so that where an element stands does not change its bits.
template <class Operation, class T, std::size_t kLanes>
HWY_INLINE void reduce_rest(const Call& call, std::size_t offset) {
  const hn::CappedTag<T, kLanes> d;
  const std::size_t vector_bytes = hn::Lanes(d) * sizeof(T);
  if (call.end_bytes - offset >= vector_bytes) {
    reduce_vector<Operation>(d, call, offset);
    offset += vector_bytes;
  }
  if constexpr (kLanes > Operation::smallest_vector_lanes) {
    if (offset != call.end_bytes) reduce_rest<Operation, T, kLanes / 2>(call, offset);
  }
}

// The whole vectors of a call with a few sources, whose number the compiler knows. Returns how many bytes are
// done. Everything is copied into locals: a store of bytes could change `call` for all the compiler knows.
// Four vectors a turn, one written after the other: four in registers at once, which the compiler then stored
// in an order of its own, had half the speed in the first-level cache (AMD Zen 3), and so had one vector a
// turn in a loop badly aligned.
template <class Operation, class T, std::size_t kSources, Order kOrder>
HWY_INLINE std::size_t reduce_few(const Call& call) {
  const hn::ScalableTag<T> d;
  const std::size_t vector_bytes = hn::Lanes(d) * sizeof(T);
  const std::size_t end = call.end_bytes;
  void* const destination = call.destination;
  const void* sources[kSources];
  for (std::size_t source = 0; source < kSources; ++source) sources[source] = call.sources[source];
  const auto one = [&](std::size_t at) HWY_ATTR {
    if constexpr (kOrder == Order::in_pairs) {
      store(d, few_in_pairs<Operation, kSources>(d, sources, at), destination, at);
    } else {
      reduce_vector<Operation>(d, sources, kSources, destination, at);
    }
  };
  std::size_t offset = 0;
  for (; end - offset >= 4 * vector_bytes; offset += 4 * vector_bytes) {
    one(offset);
    one(offset + vector_bytes);
    one(offset + 2 * vector_bytes);
    one(offset + 3 * vector_bytes);
  }
  for (; end - offset >= vector_bytes; offset += vector_bytes) one(offset);
  return offset;
}

// The same for any number of sources: four vectors of each source in turn, added up in registers.
template <class Operation, class T>
HWY_INLINE std::size_t reduce_many(const Call& call) {
  const hn::ScalableTag<T> d;
  const std::size_t vector_bytes = hn::Lanes(d) * sizeof(T);
  const std::size_t end = call.end_bytes;
  void* const destination = call.destination;
  const void* const* const sources = call.sources;
  const std::size_t source_count = call.source_count;
  std::size_t offset = 0;
  for (; end - offset >= 4 * vector_bytes; offset += 4 * vector_bytes) {
    auto result0 = load(d, sources[0], offset);
    auto result1 = load(d, sources[0], offset + vector_bytes);
    auto result2 = load(d, sources[0], offset + 2 * vector_bytes);
    auto result3 = load(d, sources[0], offset + 3 * vector_bytes);
    for (std::size_t source = 1; source < source_count; ++source) {
      result0 = Operation::apply(d, result0, load(d, sources[source], offset));
      result1 = Operation::apply(d, result1, load(d, sources[source], offset + vector_bytes));
      result2 = Operation::apply(d, result2, load(d, sources[source], offset + 2 * vector_bytes));
      result3 = Operation::apply(d, result3, load(d, sources[source], offset + 3 * vector_bytes));
    }
    store(d, result0, destination, offset);
    keep_order();
    store(d, result1, destination, offset + vector_bytes);
    keep_order();
    store(d, result2, destination, offset + 2 * vector_bytes);
    keep_order();
    store(d, result3, destination, offset + 3 * vector_bytes);
  }
  for (; end - offset >= vector_bytes; offset += vector_bytes) {
    reduce_vector<Operation>(d, sources, source_count, destination, offset);
  }
  return offset;
}

// Any number in pairs: a vector of each source in turn.
template <class Operation, class T>
HWY_INLINE std::size_t reduce_many_in_pairs(const Call& call) {
  const hn::ScalableTag<T> d;
  const std::size_t vector_bytes = hn::Lanes(d) * sizeof(T);
  const Call own = call;
  std::size_t offset = 0;
  for (; own.end_bytes - offset >= vector_bytes; offset += vector_bytes) reduce_vector<Operation>(d, own, offset);
  return offset;
}

// All the whole vectors of a call; returns how many bytes are done. Apart from `reduce`, which so needs no
// stack for a few elements.
template <class Operation, class T>
HWY_NOINLINE std::size_t reduce_all_vectors(const Call& call) {
  const bool in_pairs = call.order == Order::in_pairs;
  switch (call.source_count) {
    case 2:
      return reduce_few<Operation, T, 2, Order::in_pairs>(call);
    case 3:
      return reduce_few<Operation, T, 3, Order::in_pairs>(call);
    case 4:
      return in_pairs ? reduce_few<Operation, T, 4, Order::in_pairs>(call)
                      : reduce_few<Operation, T, 4, Order::in_sequence>(call);
    case 8:
      return in_pairs ? reduce_few<Operation, T, 8, Order::in_pairs>(call) : reduce_many<Operation, T>(call);
    default:
      return in_pairs && call.source_count > 3 ? reduce_many_in_pairs<Operation, T>(call)
                                               : reduce_many<Operation, T>(call);
  }
}

// The Kernel. An element is kLanesPerElement values of type T.
template <class Operation, class T, std::size_t kLanesPerElement>
void reduce(void* destination, const void* const* sources, std::size_t source_count, std::size_t element_count,
            Order order) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kHalf = hn::MaxLanes(hn::ScalableTag<T>()) / 2;
  const Call call{destination, sources, source_count, element_count * kLanesPerElement * sizeof(T), order};
  const std::size_t done = call.end_bytes < hn::Lanes(d) * sizeof(T) ? 0 : reduce_all_vectors<Operation, T>(call);
  if constexpr (kHalf >= Operation::smallest_vector_lanes) {
    if (done != call.end_bytes) reduce_rest<Operation, T, kHalf>(call, done);
  }
}

#endif  // TUTTI_VECTOR_TARGET

}  // namespace tutti::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
