#include "reduction/fold.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tutti::reduction {
namespace {

/// Sources and results are texts of a few bytes; the operator keeps the order of its calls in them.
constexpr std::size_t bytes = 64;
using Text = char[bytes];

void join(const void* left, void* right) {
  const std::string joined =
      "(" + std::string(static_cast<const char*>(left)) + std::string(static_cast<char*>(right)) + ")";
  ASSERT_LT(joined.size(), bytes);
  std::memcpy(right, joined.c_str(), joined.size() + 1);
}

std::string from_the_left(std::size_t count) {
  std::string all = "a";
  for (std::size_t i = 1; i < count; ++i) all = "(" + all + static_cast<char>('a' + i) + ")";
  return all;
}

/// aliased: the source that is the destination too; none if there are not so many.
void expect_fold(std::size_t count, std::size_t aliased) {
  std::vector<std::vector<char>> texts(count, std::vector<char>(bytes));
  std::vector<const void*> sources;
  for (std::size_t i = 0; i < count; ++i) {
    texts[i][0] = static_cast<char>('a' + i);
    sources.push_back(texts[i].data());
  }
  Text elsewhere, even, odd;
  char* const destination = aliased < count ? texts[aliased].data() : elsewhere;
  fold(destination, sources.data(), count, bytes, {even, odd}, join);
  EXPECT_EQ(destination, from_the_left(count)) << count << " sources, destination " << aliased;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == aliased) continue;
    EXPECT_EQ(texts[i].data(), std::string(1, static_cast<char>('a' + i)));
  }
}

TEST(Fold, GoesFromTheLeftWhereverTheResultBelongs) {
  for (std::size_t count = 1; count <= 8; ++count)
    for (std::size_t aliased = 0; aliased <= count; ++aliased) expect_fold(count, aliased);
}

}  // namespace
}  // namespace tutti::reduction
