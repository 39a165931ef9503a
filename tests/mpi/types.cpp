#include "types.h"

#include <complex>
#include <cstdint>
#include <type_traits>

namespace tutti::tests {

namespace {

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
  bool operator==(const Pair&) const = default;
};

template <class T>
struct IsPair : std::false_type {};
template <class V, class I>
struct IsPair<Pair<V, I>> : std::true_type {};

/// 1 mostly, 2 sometimes, 0 and negative seldom: products of few ranks stay small, logical operators see both values.
int number(std::size_t i, int rank) {
  const unsigned mix = (static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(rank) * 40503u) >> 7;
  if (mix % 11 == 0) return 0;
  if (mix % 7 == 0) return -1;
  return mix % 5 == 0 ? 2 : 1;
}

/// negative: whether the host handles negative values. Not for unsigned types, where they are large numbers: the vector
/// code of Open MPI's operators saturates sums of 8 and 16 bits instead of wrapping. Not for MPI_OFFSET and its kin
/// either, which Open MPI compares as unsigned numbers. Not for complex numbers, where the sign of a zero would depend
/// on the order of multiplication.
template <class T>
T element(std::size_t i, int rank, bool negative) {
  const int drawn = number(i, rank);
  const int value = negative || drawn >= 0 ? drawn : 1;
  if constexpr (IsPair<T>::value) {
    // Equal values on several ranks: the least index must win.
    return T{static_cast<decltype(T::value)>(value), static_cast<decltype(T::index)>((rank * 7 + 3) % 11)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value > 0;
  } else {
    return static_cast<T>(value);
  }
}

template <class T, bool kNegative>
void fill(void* buffer, std::size_t count, int rank) {
  for (std::size_t i = 0; i < count; ++i) static_cast<T*>(buffer)[i] = element<T>(i, rank, kNegative);
}

template <class T>
std::size_t first_difference(const void* a, const void* b, std::size_t count) {
  std::size_t i = 0;
  while (i < count && static_cast<const T*>(a)[i] == static_cast<const T*>(b)[i]) ++i;
  return i;
}

class Cases {
 public:
  template <class T>
  void add(const char* name, MPI_Datatype type, Category category) {
    if (type == MPI_DATATYPE_NULL) return;
    int bytes = 0;
    if (PMPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes == 0) return;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    if (extent != static_cast<MPI_Aint>(sizeof(T))) return;  // a Fortran type of another size in this build
    const bool negative =
        !std::is_unsigned_v<T> && category != Category::kMultiLanguage && category != Category::kComplex;
    cases_.push_back(
        {name, type, category, sizeof(T), negative ? &fill<T, true> : &fill<T, false>, &first_difference<T>});
  }

  std::vector<TypeCase> take() { return std::move(cases_); }

 private:
  std::vector<TypeCase> cases_;
};

#define ADD(T, type, category) cases.add<T>(#type, type, Category::category)

void add_c_types(Cases& cases) {
  ADD(signed char, MPI_SIGNED_CHAR, kCInteger);
  ADD(unsigned char, MPI_UNSIGNED_CHAR, kCInteger);
  ADD(short, MPI_SHORT, kCInteger);
  ADD(unsigned short, MPI_UNSIGNED_SHORT, kCInteger);
  ADD(int, MPI_INT, kCInteger);
  ADD(unsigned, MPI_UNSIGNED, kCInteger);
  ADD(long, MPI_LONG, kCInteger);
  ADD(unsigned long, MPI_UNSIGNED_LONG, kCInteger);
  ADD(long long, MPI_LONG_LONG, kCInteger);
  ADD(unsigned long long, MPI_UNSIGNED_LONG_LONG, kCInteger);
  ADD(std::int8_t, MPI_INT8_T, kCInteger);
  ADD(std::int16_t, MPI_INT16_T, kCInteger);
  ADD(std::int32_t, MPI_INT32_T, kCInteger);
  ADD(std::int64_t, MPI_INT64_T, kCInteger);
  ADD(std::uint8_t, MPI_UINT8_T, kCInteger);
  ADD(std::uint16_t, MPI_UINT16_T, kCInteger);
  ADD(std::uint32_t, MPI_UINT32_T, kCInteger);
  ADD(std::uint64_t, MPI_UINT64_T, kCInteger);
  ADD(float, MPI_FLOAT, kFloating);
  ADD(double, MPI_DOUBLE, kFloating);
  ADD(long double, MPI_LONG_DOUBLE, kFloating);
  ADD(bool, MPI_C_BOOL, kLogical);
  ADD(std::complex<float>, MPI_C_COMPLEX, kComplex);
  ADD(std::complex<float>, MPI_C_FLOAT_COMPLEX, kComplex);
  ADD(std::complex<double>, MPI_C_DOUBLE_COMPLEX, kComplex);
  ADD(std::complex<long double>, MPI_C_LONG_DOUBLE_COMPLEX, kComplex);
  ADD(unsigned char, MPI_BYTE, kByte);
  ADD(MPI_Aint, MPI_AINT, kMultiLanguage);
  ADD(MPI_Offset, MPI_OFFSET, kMultiLanguage);
  ADD(MPI_Count, MPI_COUNT, kMultiLanguage);
}

void add_cxx_types(Cases& cases) {
#ifdef MPI_CXX_BOOL
  ADD(bool, MPI_CXX_BOOL, kLogical);
  ADD(std::complex<float>, MPI_CXX_FLOAT_COMPLEX, kComplex);
  ADD(std::complex<double>, MPI_CXX_DOUBLE_COMPLEX, kComplex);
  ADD(std::complex<long double>, MPI_CXX_LONG_DOUBLE_COMPLEX, kComplex);
#endif
}

void add_fortran_types(Cases& cases) {
  ADD(std::int32_t, MPI_INTEGER, kFortranInteger);
  ADD(float, MPI_REAL, kFloating);
  ADD(double, MPI_DOUBLE_PRECISION, kFloating);
  ADD(std::complex<float>, MPI_COMPLEX, kComplex);
  ADD(std::complex<double>, MPI_DOUBLE_COMPLEX, kComplex);
  ADD(std::int32_t, MPI_LOGICAL, kLogical);
#ifdef MPI_INTEGER8
  ADD(std::int8_t, MPI_INTEGER1, kFortranInteger);
  ADD(std::int16_t, MPI_INTEGER2, kFortranInteger);
  ADD(std::int32_t, MPI_INTEGER4, kFortranInteger);
  ADD(std::int64_t, MPI_INTEGER8, kFortranInteger);
#endif
#ifdef MPI_REAL8
  ADD(float, MPI_REAL4, kFloating);
  ADD(double, MPI_REAL8, kFloating);
#endif
#ifdef MPI_COMPLEX16
  ADD(std::complex<float>, MPI_COMPLEX8, kComplex);
  ADD(std::complex<double>, MPI_COMPLEX16, kComplex);
#endif
}

using FloatInt = Pair<float, int>;
using DoubleInt = Pair<double, int>;
using LongInt = Pair<long, int>;
using IntInt = Pair<int, int>;
using ShortInt = Pair<short, int>;
using LongDoubleInt = Pair<long double, int>;
using RealReal = Pair<float, float>;
using DoubleDouble = Pair<double, double>;

void add_pairs(Cases& cases) {
  ADD(FloatInt, MPI_FLOAT_INT, kPair);
  ADD(DoubleInt, MPI_DOUBLE_INT, kPair);
  ADD(LongInt, MPI_LONG_INT, kPair);
  ADD(IntInt, MPI_2INT, kPair);
  ADD(ShortInt, MPI_SHORT_INT, kPair);
  ADD(LongDoubleInt, MPI_LONG_DOUBLE_INT, kPair);
  ADD(RealReal, MPI_2REAL, kPair);
  ADD(DoubleDouble, MPI_2DOUBLE_PRECISION, kPair);
  ADD(IntInt, MPI_2INTEGER, kPair);
}

#undef ADD

}  // namespace

std::vector<TypeCase> reducible_types() {
  Cases cases;
  add_c_types(cases);
  add_cxx_types(cases);
  add_fortran_types(cases);
  add_pairs(cases);
  return cases.take();
}

std::vector<OperationCase> operations_on(Category category) {
  std::vector<OperationCase> cases;
  const bool integer =
      category == Category::kCInteger || category == Category::kFortranInteger || category == Category::kMultiLanguage;
  const auto add = [&](const char* name, MPI_Op operation) { cases.push_back({name, operation}); };
  if (integer || category == Category::kFloating) add("MPI_MAX", MPI_MAX), add("MPI_MIN", MPI_MIN);
  if (integer || category == Category::kFloating || category == Category::kComplex)
    add("MPI_SUM", MPI_SUM), add("MPI_PROD", MPI_PROD);
  if (category == Category::kCInteger || category == Category::kLogical)
    add("MPI_LAND", MPI_LAND), add("MPI_LOR", MPI_LOR), add("MPI_LXOR", MPI_LXOR);
  if (integer || category == Category::kByte)
    add("MPI_BAND", MPI_BAND), add("MPI_BOR", MPI_BOR), add("MPI_BXOR", MPI_BXOR);
  if (category == Category::kPair) add("MPI_MAXLOC", MPI_MAXLOC), add("MPI_MINLOC", MPI_MINLOC);
  return cases;
}

}  // namespace tutti::tests
