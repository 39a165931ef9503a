// The values the interface promises by name, on the kernels this machine gets: special numbers, ties,
// overflow, the table.
#include <gtest/gtest.h>

#include <array>

#include "reduction/reference.h"

namespace tutti::reduction::test {
namespace {

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();

/// `repeated` copies of a, op, as many of b: all of the results, which a kernel makes by vectors and one by
/// one.
template <class T>
std::vector<T> reduced(Operator operation, Type type, T a, T b, std::size_t repeated = 67) {
  const std::vector<T> left(repeated, a);
  const std::vector<T> right(repeated, b);
  std::vector<T> result(repeated);
  const void* const sources[] = {left.data(), right.data()};
  kernel(operation, type)(result.data(), sources, 2, repeated, Order::in_pairs);
  return result;
}

template <class T>
void expect_everywhere(const std::vector<T>& results, T right) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(same_element(results[i], right, false)) << "element " << i;
  }
}

template <class T>
class FloatingPoint : public testing::Test {
 protected:
  static constexpr Type type = std::is_same_v<T, float> ? Type::f32 : std::is_same_v<T, double> ? Type::f64 : Type::f80;
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
};
using FloatingPointTypes = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(FloatingPoint, FloatingPointTypes);

TYPED_TEST(FloatingPoint, ExtremumTakesTheLaterOperandWhenOneIsNotANumber) {
  for (Operator operation : {Operator::max, Operator::min}) {
    expect_everywhere(reduced<TypeParam>(operation, this->type, this->nan, 1), TypeParam{1});
    expect_everywhere(reduced<TypeParam>(operation, this->type, 1, this->nan), this->nan);
  }
}

TYPED_TEST(FloatingPoint, ExtremumTakesTheLaterOfTwoZeros) {
  const TypeParam negative = -TypeParam{0};
  for (Operator operation : {Operator::max, Operator::min}) {
    expect_everywhere(reduced<TypeParam>(operation, this->type, negative, 0), TypeParam{0});
    expect_everywhere(reduced<TypeParam>(operation, this->type, 0, negative), negative);
  }
}

TYPED_TEST(FloatingPoint, ExtremumOrdersInfinitiesAndTheLargestNumbers) {
  using Limits = std::numeric_limits<TypeParam>;
  expect_everywhere(reduced(Operator::max, this->type, Limits::infinity(), Limits::max()), Limits::infinity());
  expect_everywhere(reduced(Operator::min, this->type, Limits::lowest(), -Limits::infinity()), -Limits::infinity());
  expect_everywhere(reduced(Operator::max, this->type, Limits::denorm_min(), TypeParam{0}), Limits::denorm_min());
}

TYPED_TEST(FloatingPoint, SumKeepsTheSignOfZeroAndSubnormalNumbers) {
  const TypeParam negative = -TypeParam{0};
  const TypeParam tiny = std::numeric_limits<TypeParam>::denorm_min();
  expect_everywhere(reduced(Operator::sum, this->type, negative, negative), negative);
  expect_everywhere(reduced(Operator::sum, this->type, negative, TypeParam{0}), TypeParam{0});
  expect_everywhere(reduced(Operator::sum, this->type, tiny, tiny), 2 * tiny);
}

TYPED_TEST(FloatingPoint, SumOfAnythingAndNotANumberIsNotANumber) {
  for (const TypeParam value : reduced<TypeParam>(Operator::sum, this->type, this->nan, 1)) EXPECT_NE(value, value);
  for (const TypeParam value : reduced<TypeParam>(Operator::sum, this->type, 1, this->nan)) EXPECT_NE(value, value);
}

TYPED_TEST(FloatingPoint, NegativeZeroIsFalseAndNotANumberIsTrue) {
  expect_everywhere(reduced<TypeParam>(Operator::lor, this->type, -TypeParam{0}, 0), TypeParam{0});
  expect_everywhere(reduced<TypeParam>(Operator::land, this->type, this->nan, TypeParam{0.5}), TypeParam{1});
}

TEST(Order, SumIsTakenFromTheFirstSourceOn) {
  // (1e20 + -1e20) + 1 is 1; every other grouping is 0.
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t count = std::array<std::size_t, 6>{1, 2, 3, 4, 7, 100}[i / 2];
    const Order order = i % 2 == 0 ? Order::in_sequence : Order::in_pairs;
    const std::array<std::vector<double>, 3> values = {
        std::vector<double>(count, 1e20), std::vector<double>(count, -1e20), std::vector<double>(count, 1)};
    const void* const sources[] = {values[0].data(), values[1].data(), values[2].data()};
    const void* const turned[] = {values[2].data(), values[1].data(), values[0].data()};
    std::vector<double> result(count);
    kernel(Operator::sum, Type::f64)(result.data(), sources, 3, count, order);
    EXPECT_EQ(result, std::vector<double>(count, 1.0));
    kernel(Operator::sum, Type::f64)(result.data(), turned, 3, count, order);
    EXPECT_EQ(result, std::vector<double>(count, 0.0));
  }
}

template <class T>
class Integer : public testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;
  static Type type() {
    constexpr Type signed_types[] = {Type::i8, Type::i16, Type::i32, Type::i64};
    constexpr Type unsigned_types[] = {Type::u8, Type::u16, Type::u32, Type::u64};
    const int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? signed_types[log] : unsigned_types[log];
  }
};
using IntegerTypes = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                    std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Integer, IntegerTypes);

TYPED_TEST(Integer, SumAndProductWrap) {
  using Limits = std::numeric_limits<TypeParam>;
  expect_everywhere(reduced<TypeParam>(Operator::sum, this->type(), Limits::max(), 1), Limits::min());
  // The largest number is -1 or 2^(n-1) - 1 modulo 2^n: its square is 1 either way.
  expect_everywhere(reduced<TypeParam>(Operator::prod, this->type(), Limits::max(), Limits::max()), TypeParam{1});
}

TYPED_TEST(Integer, ExtremumOrdersTheWholeRange) {
  using Limits = std::numeric_limits<TypeParam>;
  expect_everywhere(reduced(Operator::max, this->type(), Limits::min(), Limits::max()), Limits::max());
  expect_everywhere(reduced(Operator::max, this->type(), Limits::max(), Limits::min()), Limits::max());
  expect_everywhere(reduced(Operator::min, this->type(), Limits::min(), Limits::max()), Limits::min());
  expect_everywhere(reduced(Operator::min, this->type(), Limits::max(), Limits::min()), Limits::min());
}

TYPED_TEST(Integer, LogicalResultsAreZeroOrOne) {
  expect_everywhere<TypeParam>(reduced<TypeParam>(Operator::land, this->type(), 2, 4), 1);
  expect_everywhere<TypeParam>(reduced<TypeParam>(Operator::lor, this->type(), 0, 64), 1);
  expect_everywhere<TypeParam>(reduced<TypeParam>(Operator::lxor, this->type(), 2, 4), 0);
}

TEST(Fortran, AnyNonzeroLogicalIsTrueAndAResultIsOne) {
  using Word = std::uint32_t;
  expect_everywhere<Word>(reduced<Word>(Operator::land, Type::logical32, 0xFFFFFFFF, 1), 1);
  expect_everywhere<Word>(reduced<Word>(Operator::lxor, Type::logical32, 0xFFFFFFFF, 1), 0);
  expect_everywhere<Word>(reduced<Word>(Operator::lor, Type::logical32, 0, 0x80000000), 1);
}

TEST(Location, EqualValuesKeepTheSmallerIndexWhicheverSideItIsOn) {
  for (Operator operation : {Operator::maxloc, Operator::minloc}) {
    expect_everywhere(reduced<PairF64I32>(operation, Type::f64_i32, {7, 9}, {7, 4}), PairF64I32{7, 4});
    expect_everywhere(reduced<PairF64I32>(operation, Type::f64_i32, {7, 4}, {7, 9}), PairF64I32{7, 4});
    expect_everywhere(reduced<PairF32F32>(operation, Type::f32_f32, {7, 9}, {7, 4}), PairF32F32{7, 4});
  }
}

TEST(Location, TheIndexGoesWithItsValue) {
  expect_everywhere(reduced<PairI16I32>(Operator::maxloc, Type::i16_i32, {-5, 9}, {3, 70000}), PairI16I32{3, 70000});
  expect_everywhere(reduced<PairI16I32>(Operator::minloc, Type::i16_i32, {-5, 9}, {3, 70000}), PairI16I32{-5, 9});
  expect_everywhere(reduced<PairF80I32>(Operator::minloc, Type::f80_i32, {2, 1}, {-2, 8}), PairF80I32{-2, 8});
}

TEST(Location, TheLaterPairWinsWhenAValueIsNotANumber) {
  for (Operator operation : {Operator::maxloc, Operator::minloc}) {
    expect_everywhere(reduced<PairF32I32>(operation, Type::f32_i32, {nan32, 1}, {3, 2}), PairF32I32{3, 2});
    expect_everywhere(reduced<PairF32I32>(operation, Type::f32_i32, {3, 1}, {nan32, 2}), PairF32I32{nan32, 2});
  }
}

TEST(ComplexNumbers, MultiplyByTheirDefinition) {
  using C32 = std::complex<float>;
  using C64 = std::complex<double>;
  expect_everywhere(reduced<C32>(Operator::prod, Type::c32, {1, 2}, {3, 5}), C32{-7, 11});
  expect_everywhere(reduced<C64>(Operator::prod, Type::c64, {1, 2}, {3, 5}), C64{-7, 11});
}

std::string operators_of(Type type) {
  std::string names;
  for (int operation = 0; operation < operator_count; ++operation) {
    if (kernel(static_cast<Operator>(operation), type) == nullptr) continue;
    if (!names.empty()) names.push_back(' ');
    names.append(name_of(static_cast<Operator>(operation)));
  }
  return names;
}

TEST(Table, OperatorsAreDefinedForTheTypesTheStandardNamesAndTheExtensionsDocumented) {
  for (int number = 0; number < type_count; ++number) {
    const Type type = static_cast<Type>(number);
    std::string right;
    if (type <= Type::u64) {
      right = "max min sum prod land band lor bor lxor bxor";
    } else if (type <= Type::f80) {
      right = "max min sum prod land lor lxor";
    } else if (type <= Type::c80) {
      right = "sum prod";
    } else if (type == Type::boolean) {
      right = "land band lor bor lxor bxor";
    } else if (type <= Type::logical64) {
      right = "land lor lxor";
    } else if (type == Type::byte) {
      right = "band bor bxor";
    } else {
      right = "maxloc minloc";
    }
    EXPECT_EQ(operators_of(type), right) << name_of(type);
  }
}

TEST(Table, SizesAreThoseOfTheElements) {
  for (int number = 0; number < type_count; ++number) {
    const Type type = static_cast<Type>(number);
    EXPECT_EQ(size_of(type), with_element(type, []<class T>() { return sizeof(T); })) << name_of(type);
  }
}

TEST(Table, TheKernelGivenIsOneThisProcessorRunsAndNotThePlainOneWhereABetterOneIs) {
  const Kernel given = kernel(Operator::sum, Type::f64);
  bool found = false;
  bool better_exists = false;
  for (int number = 0; number < processor::instruction_set_count; ++number) {
    const auto set = static_cast<InstructionSet>(number);
    if (!processor::runs(set)) continue;
    const Kernel built = kernel_built_for(set, Operator::sum, Type::f64);
    found |= built == given;
    better_exists |= built != nullptr && set != InstructionSet::baseline;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(given != kernel_built_for(InstructionSet::baseline, Operator::sum, Type::f64), better_exists);
}

}  // namespace
}  // namespace tutti::reduction::test
