// Reduce_scatter: every algorithm x reach x ranks x size x element size, equal, unequal and zero counts, in place or
// not, in rank order.
#include <algorithm>
#include <string>
#include <vector>

#include "collectives/affine.h"
#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

enum class Division { equal, unequal, zeros, all_to_one };

/// Elements of each rank, of about `count` in all and at least one.
std::vector<std::size_t> counts_of(Division division, int ranks, std::size_t count) {
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts(p);
  for (std::size_t i = 0; i < p; ++i) {
    if (division == Division::equal) counts[i] = (count + p - 1) / p;
    if (division == Division::unequal) counts[i] = 2 * count * (i + 1) / (p * (p + 1)) + i % 2;
    if (division == Division::zeros) counts[i] = i % 3 == 1 ? 3 * count / p + 1 : 0;
    if (division == Division::all_to_one) counts[i] = i + 1 == p ? count : 0;
  }
  return counts;
}

/// Total sizes around the inline limit, grain, eager limit and segment.
const std::vector<std::size_t> sizes{1, Post::inline_bytes, 4097, 16 * 1024, 16385, 3 * 8192 + 5, 70001};

struct Case {
  std::size_t size;
  std::size_t element;
  Division division;
  bool in_place;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::size_t size : sizes)
    for (const std::size_t element : {std::size_t{1}, std::size_t{8}, std::size_t{12}}) {
      // Time; 12 is the one that straddles boundaries.
      if (element == 8 && (size > 20'000 || short_sweep())) continue;
      for (const Division division : {Division::equal, Division::unequal, Division::zeros, Division::all_to_one})
        for (const bool in_place : {false, true}) cases.push_back({size, element, division, in_place});
    }
  return cases;
}

testing::AssertionResult reduce_scatter(LivedIn& collectives, int rank, Case each, int salt,
                                        const std::array<std::byte, 256>& expected) {
  const int ranks = collectives.communicator().size();
  const auto counts = counts_of(each.division, ranks, (each.size + each.element - 1) / each.element);
  const Combiner combiner = composition(each.element, salt % 2 == 0);
  std::size_t count = 0, before = 0;
  for (int i = 0; i < ranks; ++i) {
    if (i < rank) before += counts[static_cast<std::size_t>(i)] * each.element;
    count += counts[static_cast<std::size_t>(i)];
  }
  const std::size_t bytes = count * each.element;
  const std::size_t own = counts[static_cast<std::size_t>(rank)] * each.element;
  std::vector<std::byte> send(bytes), receive(own + 1, guard);
  fill(send, bytes, salt, rank);
  ReduceScatterArguments arguments;
  arguments.send = send.data();
  arguments.receive = each.in_place ? send.data() : own > 0 ? receive.data() : nullptr;
  arguments.counts = counts.data();
  arguments.count = count;
  arguments.combiner = &combiner;
  if (!collectives.reduce_scatter(arguments)) return testing::AssertionFailure() << "not carried out";
  const auto wrong = [&](std::size_t i) {
    return testing::AssertionFailure() << collectives.last_algorithm() << " rank " << rank << " of " << ranks
                                       << " bytes " << bytes << " element " << each.element << " division "
                                       << static_cast<int>(each.division) << " in place " << each.in_place << " at "
                                       << i;
  };
  // What is behind the result in place, or what was sent, is as it was.
  std::vector<std::byte> sent(bytes), received(own + 1, guard);
  fill(sent, bytes, salt, rank);
  write_composed(each.in_place ? sent.data() : received.data(), expected.data(), before, own, salt);
  if (const std::size_t at = first_difference(receive, received); at < receive.size()) return wrong(at);
  if (const std::size_t at = first_difference(send, sent); at < send.size()) return wrong(at);
  send.assign(bytes, std::byte{0});
  receive.assign(own + 1, std::byte{0});
  return testing::AssertionSuccess();
}

World world_of(int ranks, Reach reach, const std::string& hierarchy, const std::string& algorithm) {
  World world;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = "reduce_scatter:" + algorithm;
  world.settings.hierarchy = hierarchy;
  world.settings.segment = 64 * 1024;
  world.settings.flat_max = 64;
  return world;
}

class ReduceScatter : public testing::TestWithParam<Reach> {};

TEST_P(ReduceScatter, EveryAlgorithmGivesEachRankItsRangeInRankOrder) {
  for (const auto* algorithm : algorithms_of<ReduceScatterArguments>())
    for (const int ranks : rank_counts()) {
      const auto expected = composed(ranks);
      for (const char* hierarchy : {"flat", "l3+numa+socket"}) {
        // Only one of them looks at the hierarchy.
        if (std::string(hierarchy) != "flat" && std::string(algorithm->name) != "hierarchical") continue;
        sweep_ranks(world_of(ranks, GetParam(), hierarchy, algorithm->name), [&](int rank, LivedIn& collectives) {
          int salt = 0;
          for (const Case& each : all_cases()) ASSERT_TRUE(reduce_scatter(collectives, rank, each, ++salt, expected));
        });
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Reaches, ReduceScatter, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ReduceScatterOrder, ManyCallsFollowEachOtherWithoutASynchronisation) {
  for (const auto* algorithm : algorithms_of<ReduceScatterArguments>())
    for (const int ranks : rank_counts()) {
      const auto expected = composed(ranks);
      sweep_ranks(world_of(ranks, Reach::direct, "numa", algorithm->name), [&](int rank, LivedIn& collectives) {
        for (int i = 0; i < 80; ++i) {
          const Case each{std::size_t{i % 3 == 0 ? 20000u : 60u}, 4, static_cast<Division>(i % 4), i % 2 == 0};
          ASSERT_TRUE(reduce_scatter(collectives, rank, each, i, expected));
        }
      });
    }
}

}  // namespace
}  // namespace tutti::test
