#include "reduction/fold.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "reduction/reference.h"

namespace tutti::reduction {
namespace {

/// Sources and results are texts of a few bytes; the operator keeps the order of its calls in them.
constexpr std::size_t bytes = 128;
using Text = char[bytes];

void join(const void* left, void* right) {
  const std::string joined =
      "(" + std::string(static_cast<const char*>(left)) + std::string(static_cast<char*>(right)) + ")";
  ASSERT_LT(joined.size(), bytes);
  std::memcpy(right, joined.c_str(), joined.size() + 1);
}

std::string text_of(std::size_t count, Order order) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(1, static_cast<char>('a' + i));
  return test::combined(
      values, order, [](const std::string& a, const std::string& b) { return std::string("(").append(a + b + ")"); });
}

/// aliased: the source that is the destination too; none if there are not so many.
void expect_fold(std::size_t count, Order order, std::size_t aliased) {
  std::vector<std::vector<char>> texts(count, std::vector<char>(bytes));
  std::vector<const void*> sources;
  for (std::size_t i = 0; i < count; ++i) {
    texts[i][0] = static_cast<char>('a' + i);
    sources.push_back(texts[i].data());
  }
  Text elsewhere, own[8];
  std::vector<void*> rooms;
  for (std::size_t i = 0; i < most_operands(count); ++i) rooms.push_back(own[i]);
  char* const destination = aliased < count ? texts[aliased].data() : elsewhere;
  fold(destination, sources.data(), count, bytes, order, rooms.data(), join);
  EXPECT_EQ(destination, text_of(count, order)) << count << " sources, destination " << aliased;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == aliased) continue;
    EXPECT_EQ(texts[i].data(), std::string(1, static_cast<char>('a' + i)));
  }
}

TEST(Fold, GivesTheValueWhereverItBelongs) {
  for (const Order order : {Order::in_sequence, Order::in_pairs})
    for (std::size_t count = 1; count <= 17; ++count)
      for (std::size_t aliased = 0; aliased <= count; ++aliased) expect_fold(count, order, aliased);
}

TEST(Order, InPairsIsThatOfRecursiveDoubling) {
  EXPECT_EQ(text_of(4, Order::in_pairs), "((ab)(cd))");
  EXPECT_EQ(text_of(5, Order::in_pairs), "(((ab)c)(de))");
  EXPECT_EQ(text_of(7, Order::in_pairs), "(((ab)(cd))((ef)g))");
  EXPECT_EQ(text_of(4, Order::in_sequence), "(((ab)c)d)");
}

}  // namespace
}  // namespace tutti::reduction
