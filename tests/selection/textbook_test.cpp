// The algorithms that ours are compared with have the rounds and bytes of their textbook formulas where a node has one
// rank, and share its link where it has several.
#include "textbook.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tutti::prediction {
namespace {

using selection::Cost;

constexpr double bytes = 24;

const Textbook& named(const std::string& collective, const std::string& name) {
  for (const Textbook& each : textbook_algorithms())
    if (collective == each.collective && name == each.name) return each;
  throw std::invalid_argument(name);
}

Cost cost(const char* collective, const char* name, int nodes, int places) {
  return named(collective, name).cost({nodes, places, bytes});
}

/// ceil(log_2 p)
double logarithm(int ranks) {
  return std::ceil(std::log2(ranks));
}

TEST(Textbook, FormulasOfRanksThatHaveANodeEach) {
  for (int p = 2; p <= 40; ++p) {
    SCOPED_TRACE(p);
    const double others = (p - 1) * bytes;
    const Cost scatter = cost("scatter", "binomial", p, 1);
    EXPECT_EQ(scatter.between.rounds, logarithm(p));
    EXPECT_EQ(scatter.between.bytes, others);
    const Cost bruck = cost("allgather", "bruck", p, 1);
    EXPECT_EQ(bruck.between.rounds, logarithm(p));
    EXPECT_EQ(bruck.between.messages, logarithm(p));
    EXPECT_EQ(bruck.between.bytes, others);
    const Cost ring = cost("allgather", "ring", p, 1);
    EXPECT_EQ(ring.between.rounds, p - 1);
    EXPECT_EQ(ring.between.bytes, others);
    const Cost doubling = cost("allreduce", "recursive-doubling", p, 1);
    const bool power = std::has_single_bit(static_cast<unsigned>(p));
    EXPECT_EQ(doubling.between.rounds, power ? logarithm(p) : logarithm(p) + 1);
    EXPECT_EQ(doubling.between.bytes, doubling.between.rounds * bytes);
    if (!power) continue;
    EXPECT_EQ(cost("allgather", "recursive-doubling", p, 1).between.bytes, others);
    const Cost halving = cost("allreduce", "rabenseifner", p, 1);
    EXPECT_EQ(halving.between.rounds, 2 * logarithm(p));
    EXPECT_DOUBLE_EQ(halving.between.bytes, 2 * bytes * (p - 1) / p);
    EXPECT_DOUBLE_EQ(halving.reduced_bytes, 2 * bytes * (p - 1) / p);
  }
}

TEST(Textbook, InsideOneNodeNothingIsSent) {
  for (const Textbook& each : textbook_algorithms()) {
    SCOPED_TRACE(std::string(each.collective) + " " + each.name);
    const Cost found = each.cost({1, 16, bytes});
    EXPECT_EQ(found.between.rounds, 0);
    EXPECT_EQ(found.between.messages, 0);
    EXPECT_EQ(found.between.bytes, 0);
    EXPECT_GT(found.hops, 0);
  }
}

TEST(Textbook, RanksOfANodeShareItsLink) {
  // 128 nodes of 18 ranks: all 18 send in each round whose distance is at least 18, fewer before.
  double sent = 0;
  for (int distance = 1; distance < 2304; distance *= 2)
    sent += std::min(distance, 18) * std::min(distance, 2304 - distance) * bytes;
  const Cost bruck = cost("allgather", "bruck", 128, 18);
  EXPECT_EQ(bruck.between.rounds, 12);
  EXPECT_EQ(bruck.between.bytes, sent);
  EXPECT_EQ(bruck.between.messages, 1 + 2 + 4 + 8 + 16 + 7 * 18);
  // Of a ring one message a node crosses.
  EXPECT_EQ(cost("allgather", "ring", 128, 18).between.bytes, 2303 * bytes);
  // The root's node sends all that is not its own.
  EXPECT_EQ(cost("scatter", "binomial", 4, 8).between.bytes, 24 * bytes);
}

TEST(Textbook, LeadersSendAsMuchAsOneRankANode) {
  const Cost leaders = cost("allgather", "leaders-bruck", 16, 4);
  EXPECT_EQ(leaders.between.rounds, 4);
  EXPECT_EQ(leaders.between.bytes, 15 * 4 * bytes);
  EXPECT_EQ(cost("allreduce", "leaders-recursive-doubling", 16, 4).between.bytes, 4 * bytes);
}

TEST(Textbook, RecursiveDoublingOfAllgatherWantsAPowerOfTwo) {
  const Textbook& doubling = named("allgather", "recursive-doubling");
  EXPECT_TRUE(doubling.can({4, 8, bytes}));
  EXPECT_FALSE(doubling.can({128, 18, bytes}));
}

}  // namespace
}  // namespace tutti::prediction
