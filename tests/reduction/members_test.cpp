#include "reduction/members.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace tutti::reduction {
namespace {

/// A type, and what its element is in C. x: a byte of a member, '.': one of a gap.
struct Layout {
  Type type;
  const char* bytes;
};

// As x86-64's ABI lays them out.
#ifdef __x86_64__
constexpr Layout layouts[] = {
    {Type::i8, "x"},
    {Type::i32, "xxxx"},
    {Type::f64, "xxxxxxxx"},
    {Type::c64, "xxxxxxxxxxxxxxxx"},
    {Type::f80, "xxxxxxxxxx......"},
    {Type::c80, "xxxxxxxxxx......xxxxxxxxxx......"},
    {Type::f32_i32, "xxxxxxxx"},
    {Type::f64_i32, "xxxxxxxxxxxx...."},
    {Type::i64_i32, "xxxxxxxxxxxx...."},
    {Type::i32_i32, "xxxxxxxx"},
    {Type::i16_i32, "xx..xxxx"},
    {Type::f80_i32, "xxxxxxxxxx......xxxx............"},
    {Type::f32_f32, "xxxxxxxx"},
    {Type::f64_f64, "xxxxxxxxxxxxxxxx"},
};

TEST(Members, AreCopiedAndWhatIsBetweenThemIsNot) {
  for (const Layout& layout : layouts) {
    const std::size_t bytes = std::strlen(layout.bytes);
    ASSERT_EQ(size_of(layout.type), bytes);
    EXPECT_EQ(has_gaps(layout.type), std::strchr(layout.bytes, '.') != nullptr) << layout.bytes;
    for (const std::size_t elements : {0, 1, 2, 3, 17}) {
      // One byte off, for whoever expects them to be aligned; guards on both sides.
      std::vector<unsigned char> source(elements * bytes + 2), destination(source.size(), 0xaa);
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i % 100);
      copy_members(layout.type, destination.data() + 1, source.data() + 1, elements);
      EXPECT_EQ(destination.front(), 0xaa);
      EXPECT_EQ(destination.back(), 0xaa);
      for (std::size_t i = 0; i < elements * bytes; ++i)
        EXPECT_EQ(destination[i + 1], layout.bytes[i % bytes] == 'x' ? source[i + 1] : 0xaa)
            << layout.bytes << ", byte " << i << " of " << elements << " elements";
    }
  }
}
#endif

TEST(Members, OfEveryTypeWithoutGapsAreItsBytes) {
  for (int i = 0; i < type_count; ++i) {
    const auto type = static_cast<Type>(i);
    if (has_gaps(type)) continue;
    std::vector<unsigned char> source(3 * size_of(type), 7), destination(source.size(), 0);
    copy_members(type, destination.data(), source.data(), 3);
    EXPECT_EQ(destination, source) << "type " << i;
  }
}

}  // namespace
}  // namespace tutti::reduction
