// Scan and Exscan: every algorithm x reach x ranks x size x element size, in place or not, in rank order.
#include <algorithm>
#include <string>
#include <vector>

#include "collectives/affine.h"
#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

/// Around the inline limit, grain, chunk, eager limit and segment.
const std::vector<std::size_t> sizes{
    1, Post::inline_bytes, Post::inline_bytes + 1, 4097, 8192 - 1, 16 * 1024, 16385, 3 * 8192 + 5, 70001};

struct Case {
  std::size_t size;
  std::size_t element;
  bool in_place;
  bool exclusive;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::size_t size : sizes)
    for (const std::size_t element : {std::size_t{1}, std::size_t{8}, std::size_t{12}}) {
      // Time; 12 is the one that straddles boundaries.
      if (element == 8 && (size > 20'000 || short_sweep())) continue;
      for (const bool in_place : {false, true})
        for (const bool exclusive : {false, true}) cases.push_back({size, element, in_place, exclusive});
    }
  return cases;
}

/// One call on one rank; true if all is as it must be.
testing::AssertionResult scan(LivedIn& collectives, int rank, Case each, int salt,
                              const std::vector<std::array<std::byte, 256>>& expected) {
  const std::size_t count = (each.size + each.element - 1) / each.element;
  const std::size_t bytes = count * each.element;
  const Combiner combiner = composition(each.element, salt % 2 == 0);
  std::vector<std::byte> send(bytes), receive(bytes + 1, guard);
  fill(send, bytes, salt, rank);
  if (each.in_place) std::copy(send.begin(), send.end(), receive.begin());
  ScanArguments arguments;
  arguments.send = each.in_place ? receive.data() : send.data();
  arguments.receive = receive.data();
  arguments.count = count;
  arguments.combiner = &combiner;
  arguments.exclusive = each.exclusive;
  if (!collectives.scan(arguments)) return testing::AssertionFailure() << "not carried out";
  const auto wrong = [&](std::size_t i) {
    return testing::AssertionFailure() << collectives.last_algorithm() << " rank " << rank << " bytes " << bytes
                                       << " element " << each.element << " in place " << each.in_place << " exclusive "
                                       << each.exclusive << " at " << i;
  };
  const int combined = each.exclusive ? rank : rank + 1;
  std::vector<std::byte> right(bytes + 1, guard), sent(bytes);
  fill(sent, bytes, salt, rank);
  if (combined > 0)
    write_composed(right.data(), expected[static_cast<std::size_t>(combined)].data(), 0, bytes, salt);
  else if (each.in_place)  // Exscan leaves rank 0's buffer alone
    std::copy(sent.begin(), sent.end(), right.begin());
  if (const std::size_t at = first_difference(receive, right); at < receive.size()) return wrong(at);
  if (const std::size_t at = first_difference(send, sent); at < send.size()) return wrong(at);
  // Nobody may still be reading or writing.
  send.assign(bytes, std::byte{0});
  receive.assign(bytes + 1, std::byte{0});
  return testing::AssertionSuccess();
}

std::vector<std::array<std::byte, 256>> prefixes(int ranks) {
  std::vector<std::array<std::byte, 256>> tables(1);
  for (int count = 1; count <= ranks; ++count) tables.push_back(composed(count));
  return tables;
}

World world_of(int ranks, Reach reach, const std::string& hierarchy, const std::string& algorithm) {
  World world;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = "scan:" + algorithm + ";exscan:" + algorithm;
  world.settings.hierarchy = hierarchy;
  world.settings.chunk = "8K";
  world.settings.segment = 64 * 1024;
  world.settings.flat_max = 64;
  return world;
}

class Scan : public testing::TestWithParam<Reach> {};

TEST_P(Scan, EveryAlgorithmGivesEachRankItsPrefixInRankOrder) {
  for (const auto* algorithm : algorithms_of<ScanArguments>())
    for (const int ranks : rank_counts()) {
      const auto expected = prefixes(ranks);
      for (const char* hierarchy : {"flat", "l3+numa+socket"}) {
        // Only one of them looks at the hierarchy.
        if (std::string(hierarchy) != "flat" && std::string(algorithm->name) != "hierarchical") continue;
        sweep_ranks(world_of(ranks, GetParam(), hierarchy, algorithm->name), [&](int rank, LivedIn& collectives) {
          int salt = 0;
          for (const Case& each : all_cases()) ASSERT_TRUE(scan(collectives, rank, each, ++salt, expected));
        });
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Reaches, Scan, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ScanOrder, ManyCallsFollowEachOtherWithoutASynchronisation) {
  for (const auto* algorithm : algorithms_of<ScanArguments>())
    for (const int ranks : rank_counts()) {
      const auto expected = prefixes(ranks);
      sweep_ranks(world_of(ranks, Reach::direct, "numa", algorithm->name), [&](int rank, LivedIn& collectives) {
        for (int i = 0; i < 80; ++i) {
          const Case each{std::size_t{i % 3 == 0 ? 20000u : 60u}, 4, i % 2 == 0, i % 5 == 0};
          ASSERT_TRUE(scan(collectives, rank, each, i, expected));
        }
      });
    }
}

}  // namespace
}  // namespace tutti::test
