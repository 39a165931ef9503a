#include "selection/candidates.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "selection/unmapped.h"

namespace tutti::selection {
namespace {

struct Nothing {};

template <int hops>
Cost cost_of(const Shape&) {
  return Cost{.hops = hops};
}

const Algorithm<Nothing> quick{"quick",       {}, requires_nothing, cost_of<100>,
                               {nullptr, {}}, {}, nullptr,          {.in_rank_order = true}};
const Algorithm<Nothing> writes{"writes",      {}, requires_nothing, cost_of<120>,
                                {nullptr, {}}, {}, nullptr,          {.stores_to_peers = true, .in_rank_order = true}};
const Algorithm<Nothing> near{"near", {}, requires_nothing, cost_of<140>, {nullptr, {}}};
const Algorithm<Nothing> far{"far", {}, requires_nothing, cost_of<210>, {nullptr, {}}};
const Algorithm<Nothing> rare{
    "rare", {}, {"never", [](const Shape&) { return false; }}, cost_of<100>, {nullptr, {}}, {}, nullptr, {}};
const std::array<const Algorithm<Nothing>*, 5> all{&near, &far, &writes, &rare, &quick};

using Algorithms = std::span<const Algorithm<Nothing>* const>;

/// "quick writes writes! near+ near*": stores through the caches, what is not mapped lent as a copy, lent as a copy past the
/// caches. quick_l: what is mapped lent as a copy, quick_b: past the caches.
/// beside(...): the candidates, given the choice, the shape and what is known.
template <class Beside>
std::string words_of(const char* asked, int ranks, Algorithms algorithms, Beside beside, std::size_t moved_max = 0) {
  const std::vector<UserChoice::Known> known{{"bcast", {"quick", "writes", "near", "far", "rare"}, {}}};
  Shape shape;
  shape.ranks = ranks;
  shape.bytes = 1 << 20;
  shape.moved_max = moved_max;
  const Knowledge knowledge{UserChoice::parse(asked, known, Log()), {}};
  std::string words;
  for (const auto& each : beside(choose<Nothing>("bcast", algorithms, shape, knowledge), shape, knowledge)) {
    words +=
        (words.empty() ? "" : " ") + std::string(each.algorithm->name) + (each.moving == Moving::caches ? "!" : "");
    words += each.moving == Moving::lent ? "_l" : each.moving == Moving::lent_beyond ? "_b" : "";
    words += each.lending == Lending::copied ? "+" : each.lending == Lending::copied_past_caches ? "*" : "";
  }
  return words;
}

std::string tried(const char* asked, TriedCalls calls, int ranks = 2) {
  return words_of(asked, ranks, all, [&](const auto& chosen, const Shape& shape, const Knowledge& knowledge) {
    return candidates_beside<Nothing>(chosen, "bcast", all, shape, knowledge, calls);
  });
}

/// The same for memory that peers do not map.
std::string tried_unmapped(const char* asked, TriedCalls calls, int ranks = 2, bool may_lend = true,
                           Algorithms algorithms = all) {
  return words_of(asked, ranks, algorithms, [&](const auto& chosen, const Shape& shape, const Knowledge& knowledge) {
    return candidates_where_unmapped<Nothing>(chosen, "bcast", algorithms, shape, may_lend, knowledge, calls);
  });
}

TEST(Candidates, AreTheChoiceAndWhatIsAboutAsFast) {
  EXPECT_EQ(tried("", {}), "quick writes near");
}

Cost cost_of_moving(const Shape& shape) {
  switch (shape.moving) {
    case Moving::plain:
      return {.hops = 150};
    case Moving::caches:
      return {.hops = 110};
    case Moving::lent:
      return {.hops = 100};
    default:
      return {.hops = 120};
  }
}

TEST(Candidates, HowBytesAreMovedIsPartOfOne) {
  const auto made = [](const char* name, Traits traits) {
    return Algorithm<Nothing>{name, {}, requires_nothing, cost_of_moving, {nullptr, {}}, {}, nullptr, traits};
  };
  const auto reads = made("quick", {.lends = Readers::one}), all_read = made("writes", {.lends = Readers::many});
  const auto stores = made("near", {.stores_to_peers = true});
  const std::array<const Algorithm<Nothing>*, 3> algorithms{&reads, &all_read, &stores};
  const auto moved = [&](const char* asked, int ranks, std::size_t moved_max) {
    return words_of(
        asked, ranks, algorithms,
        [&](const auto& chosen, const Shape& shape, const Knowledge& knowledge) {
          return candidates_beside<Nothing>(chosen, "bcast", algorithms, shape, knowledge, {});
        },
        moved_max);
  };
  EXPECT_EQ(moved("bcast:quick", 3, SIZE_MAX), "quick_l quick_b quick");
  EXPECT_EQ(moved("bcast:writes", 3, SIZE_MAX), "writes_b writes") << "nobody takes over lines that others read, too";
  EXPECT_EQ(moved("bcast:writes", 2, SIZE_MAX), "writes_l writes_b writes");
  EXPECT_EQ(moved("bcast:near", 3, SIZE_MAX), "near! near");
  EXPECT_EQ(moved("bcast:quick", 3, 1 << 20), "quick") << "its buffers hold more";
}

TEST(Candidates, AreAmongWhatTheUserAllows) {
  EXPECT_EQ(tried("bcast:^quick", {}), "writes near far");
  EXPECT_EQ(tried("bcast:far,near", {}), "near far");
  EXPECT_EQ(tried("bcast:quick", {}), "quick");
}

TEST(Candidates, ThereAreNoneBesideTheHostOrWhatNobodyAskedFor) {
  EXPECT_EQ(tried("bcast:host", {}), "");
  EXPECT_EQ(tried("bcast:rare", {}), "");
}

TEST(Candidates, WhatStoresIsTriedInMemoryThatPeersDoNotMapWhereThatIsCopied) {
  EXPECT_EQ(tried_unmapped("", {}), "quick quick+ quick* writes!+ writes* near near+ near*");
  EXPECT_EQ(tried_unmapped("bcast:writes", {}), "writes writes!+ writes*");
  EXPECT_EQ(tried_unmapped("bcast:writes,far", {}), "writes!+ writes* far far+ far*") << "writes would be chosen else";
}

TEST(Candidates, AWayOfLendingIsPartOfACandidate) {
  EXPECT_EQ(tried_unmapped("", {}, 2, false), "quick near") << "no copies";
  const Algorithm<Nothing> copies{
      "copies",
      {},
      requires_nothing,
      [](const Shape& shape) {
        return Cost{.hops = shape.reach == Reach::kernel ? 150.0 : shape.past_caches ? 80 : 60};
      },
      {nullptr, {}}};
  const std::array<const Algorithm<Nothing>*, 2> both{&quick, &copies};
  EXPECT_EQ(tried_unmapped("", {}, 2, true, both), "copies+ copies* quick quick+ quick* copies");
}

TEST(Candidates, ReductionsGetTheSameBitsInEitherMemory) {
  EXPECT_EQ(tried_unmapped("", {.reduce = true}, 3), "quick quick+ quick* writes!+ writes*");
  EXPECT_EQ(tried_unmapped("bcast:^quick,^writes", {.reduce = true}, 3), "near near+ near*");
}

TEST(Candidates, ReductionsOfMoreThanTwoRanksKeepTheirOrder) {
  EXPECT_EQ(tried("", {.reduce = true}, 2), "quick writes near");
  EXPECT_EQ(tried("", {.reduce = true}, 3), "quick writes");
  EXPECT_EQ(tried("bcast:^quick,^writes", {.reduce = true}, 3), "near");
}

TEST(Candidates, SmallOrUnequalCallsAreNotTried) {
  Shape shape;
  shape.bytes = 2048;
  EXPECT_FALSE(may_be_tried(shape));
  shape.bytes = 4096;
  EXPECT_TRUE(may_be_tried(shape));
  shape.commutative = false;
  EXPECT_FALSE(may_be_tried(shape));
  shape.commutative = true;
  shape.regular = false;
  EXPECT_FALSE(may_be_tried(shape));
}

}  // namespace
}  // namespace tutti::selection
