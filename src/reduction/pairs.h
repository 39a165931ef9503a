// The pairs of MINLOC and MAXLOC (MPI 4.1, section 6.9.4) as C lays them out. Internal to this layer and its
// tests.
#pragma once

#include <cstdint>

namespace tutti::reduction {

/// A value and where it is.
template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

using PairF32I32 = Pair<float, std::int32_t>;
using PairF64I32 = Pair<double, std::int32_t>;
using PairI64I32 = Pair<std::int64_t, std::int32_t>;
using PairI32I32 = Pair<std::int32_t, std::int32_t>;
using PairI16I32 = Pair<std::int16_t, std::int32_t>;
using PairF80I32 = Pair<long double, std::int32_t>;
using PairF32F32 = Pair<float, float>;
using PairF64F64 = Pair<double, double>;

}  // namespace tutti::reduction
