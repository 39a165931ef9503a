// More ranks than a group is wide by default, on cores that share one cache: algorithms along the hierarchy have levels
// that are no part of the machine, and give each rank what they have to.
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/rooted_blocks.h"
#include "topology/hierarchy.h"

namespace tutti::test {
namespace {

constexpr int ranks = 34;
static_assert(ranks > topology::usual_widest);

using Words = std::vector<std::uint32_t>;

std::byte* bytes_of(Words& words) {
  return reinterpret_cast<std::byte*>(words.data());
}

void add(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
         reduction::Order /*order*/) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint32_t sum = 0;
    for (std::size_t s = 0; s < count; ++s) sum += static_cast<const std::uint32_t*>(sources[s])[i];
    static_cast<std::uint32_t*>(destination)[i] = sum;
  }
}

Combiner addition() {
  Combiner combiner;
  combiner.element_bytes = sizeof(std::uint32_t);
  combiner.function = add;
  return combiner;
}

/// What `rank` has in call `salt`.
Words words_of(int rank, std::size_t count, int salt) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i)
    words[i] =
        static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>((salt * 64 + rank) * (rank + 1));
  return words;
}

/// The sum of what the first `many` have.
Words sum_of(int many, std::size_t count, int salt) {
  Words sum(count);
  for (int rank = 0; rank < many; ++rank) {
    const Words words = words_of(rank, count, salt);
    for (std::size_t i = 0; i < count; ++i) sum[i] += words[i];
  }
  return sum;
}

void check_name(Collectives& collectives, const char* name) {
  EXPECT_STREQ(collectives.last_algorithm(), name);
}

void check_bcast(int rank, Collectives& collectives, std::size_t count, int root, int salt) {
  Words buffer = words_of(rank, count, salt);
  ASSERT_TRUE(collectives.bcast({bytes_of(buffer), count * sizeof(std::uint32_t), root}));
  check_name(collectives, "xhc");
  EXPECT_EQ(buffer, words_of(root, count, salt)) << rank;
  buffer.assign(count, 0);  // nobody may still be reading
}

void check_reductions(int rank, Collectives& collectives, std::size_t count, int root, int salt) {
  const Combiner combiner = addition();
  Words send = words_of(rank, count, salt), receive(count);
  const Words sum = sum_of(ranks, count, salt);
  ASSERT_TRUE(collectives.reduce({bytes_of(send), bytes_of(receive), count, &combiner, root}));
  check_name(collectives, "xhc");
  EXPECT_EQ(receive, rank == root ? sum : Words(count)) << rank;
  ASSERT_TRUE(collectives.allreduce({bytes_of(send), bytes_of(receive), count, &combiner}));
  check_name(collectives, "xhc");
  EXPECT_EQ(receive, sum) << rank;
  receive.assign(count, 0);
  ASSERT_TRUE(collectives.scan({bytes_of(send), bytes_of(receive), count, &combiner}));
  check_name(collectives, "hierarchical");
  EXPECT_EQ(receive, sum_of(rank + 1, count, salt)) << rank;
  send.assign(count, 0);  // nobody may still be reading
}

void check_reduce_scatter(int rank, Collectives& collectives, std::size_t each, int salt) {
  const Combiner combiner = addition();
  const std::size_t count = each * ranks;
  const std::vector<std::size_t> counts(ranks, each);
  Words send = words_of(rank, count, salt), receive(each);
  ASSERT_TRUE(collectives.reduce_scatter({bytes_of(send), bytes_of(receive), counts.data(), count, &combiner}));
  check_name(collectives, "hierarchical");
  const Words sum = sum_of(ranks, count, salt);
  const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(each) * rank;
  EXPECT_EQ(receive, Words(begin, begin + static_cast<std::ptrdiff_t>(each))) << rank;
  send.assign(count, 0);  // nobody may still be reading
}

void check_blocks(int rank, Collectives& collectives, std::size_t bytes, int root, int salt) {
  RootedBlocks all(ranks, bytes, true, salt);
  std::vector<std::byte> own(bytes + 1, guard);
  if (rank == root) all.fill_all(salt);
  ASSERT_TRUE(collectives.scatter({rank == root ? all.blocks() : Blocks{}, own.data(), bytes, root}));
  check_name(collectives, "hierarchical");
  EXPECT_EQ(first_difference(own, guarded_block(bytes, rank, salt)), own.size()) << rank;
  RootedBlocks gathered(ranks, bytes, true, salt);
  ASSERT_TRUE(collectives.gather({own.data(), bytes, rank == root ? gathered.blocks() : Blocks{}, root}));
  check_name(collectives, "hierarchical");
  if (rank == root) {
    EXPECT_EQ(first_difference(gathered.bytes, all.bytes), all.bytes.size());
  }
}

/// Associative, but not commutative: of two maps x -> a x + b, one after the other.
void compose(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
             reduction::Order /*order*/) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint32_t a = 1, b = 0;
    for (std::size_t s = 0; s < count; ++s) {
      const std::uint32_t* const map = static_cast<const std::uint32_t*>(sources[s]) + 2 * i;
      b = b * map[0] + map[1];
      a *= map[0];
    }
    static_cast<std::uint32_t*>(destination)[2 * i] = a;
    static_cast<std::uint32_t*>(destination)[2 * i + 1] = b;
  }
}

struct Cut {
  const char* hierarchy;
  int levels;
};

World world_of(Reach reach, const Cut& cut) {
  World world;
  world.ranks = ranks;
  world.reach = reach;
  world.machine = "package:1 l3:1 core:" + std::to_string(ranks) + " pu:1";
  world.algorithm =
      "bcast:xhc;reduce:xhc;allreduce:xhc;barrier:tree;scan:hierarchical;reduce_scatter:hierarchical;"
      "scatter:hierarchical;gather:hierarchical";
  world.settings.hierarchy = cut.hierarchy;
  world.settings.chunk = "8K";
  world.settings.segment = 64 * 1024;
  return world;
}

class WideGroups : public testing::TestWithParam<Reach> {};

TEST_P(WideGroups, AreCutAndAllAlongTheHierarchyStillGivesEachRankItsOwn) {
  for (const Cut& cut : {Cut{"auto", 2}, Cut{"4", 3}, Cut{"2", 6}}) {
    if (short_sweep() && cut.levels > 2) continue;
    run_ranks(world_of(GetParam(), cut), [&](int rank, Collectives& collectives) {
      ASSERT_EQ(collectives.shape().levels, cut.levels) << cut.hierarchy;
      int salt = 0;
      // Through slots, and beyond: of more than a chunk, and of more than a segment.
      for (const std::size_t count : {std::size_t{1}, std::size_t{250}, std::size_t{5001}, std::size_t{20001}})
        for (const int root : {0, 17, ranks - 1}) {
          ++salt;
          check_bcast(rank, collectives, count, root, salt);
          check_reductions(rank, collectives, count, root, salt);
          ASSERT_TRUE(collectives.barrier({}));
          check_name(collectives, "tree");
          if (count > 5001) continue;
          check_reduce_scatter(rank, collectives, (count + 9) / 10, salt);
          check_blocks(rank, collectives, count, root, salt);
        }
    });
    if (testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Reaches, WideGroups, testing::Values(Reach::direct, Reach::cma, Reach::staged, Reach::window),
                         [](const auto& info) { return std::string(name_of(info.param)); });

struct Chosen {
  std::size_t count;
  const char *allreduce, *reduce;
};

/// More ranks than TUTTI_FLAT_MAX: no flat algorithm is there for them, and none that takes ranks in another order.
void expect_the_order_of_ranks(const char* algorithm, const std::vector<Chosen>& chosen) {
  Combiner combiner;
  combiner.element_bytes = 2 * sizeof(std::uint32_t);
  combiner.commutative = false;
  combiner.function = compose;
  World world = world_of(Reach::direct, {"auto", 2});
  world.algorithm = algorithm;
  run_ranks(world, [&](int rank, Collectives& collectives) {
    for (const auto& [count, allreduce, reduce] : chosen)
      for (const bool in_place : {false, true}) {
        std::vector<Words> all;
        std::vector<const void*> sources;
        for (int each = 0; each < ranks; ++each) all.push_back(words_of(each, 2 * count, in_place));
        for (const Words& words : all) sources.push_back(words.data());
        Words expected(2 * count), receive(2 * count), send = all[static_cast<std::size_t>(rank)];
        compose(nullptr, expected.data(), sources.data(), sources.size(), count, reduction::Order::in_pairs);
        if (in_place) receive = send;
        ASSERT_TRUE(collectives.allreduce({bytes_of(in_place ? receive : send), bytes_of(receive), count, &combiner}));
        check_name(collectives, allreduce);
        EXPECT_EQ(receive, expected) << rank << " of " << count << " in place " << in_place;
        for (const int root : {0, 1, 20, ranks - 1}) {
          const bool has_own = in_place && rank == root;
          receive = has_own ? all[static_cast<std::size_t>(rank)] : Words(2 * count);
          send = all[static_cast<std::size_t>(rank)];
          ASSERT_TRUE(
              collectives.reduce({bytes_of(has_own ? receive : send), bytes_of(receive), count, &combiner, root}));
          check_name(collectives, reduce);
          EXPECT_EQ(receive, rank == root ? expected : Words(2 * count)) << rank << " to " << root;
        }
      }
  });
}

TEST(ManyRanks, CombineInTheOrderOfRanks) {
  expect_the_order_of_ranks("", {{1, "xhc", "xhc"}, {8, "xhc", "xhc"}, {20'000, "xhc", "xhc"}});
}

TEST(ManyRanks, CombineInTheOrderOfRanksWithoutAHierarchy) {
  expect_the_order_of_ranks("allreduce:^xhc;reduce:^xhc",
                            {{1, "recursive-doubling", "binomial"},
                             {8, "recursive-doubling", "binomial"},
                             {20'000, "reduce-scatter-allgather", "reduce-scatter-gather"}});
}

TEST(WideGroupsBarrier, NobodyLeavesBeforeTheLastHasCome) {
  std::vector<std::atomic<int>> arrived(ranks);
  run_ranks(world_of(Reach::direct, {"auto", 2}), [&](int rank, Collectives& collectives) {
    for (int round = 1; round <= 20; ++round) {
      arrived[static_cast<std::size_t>(rank)].store(round, std::memory_order_relaxed);
      ASSERT_TRUE(collectives.barrier({}));
      for (const auto& other : arrived) ASSERT_GE(other.load(std::memory_order_relaxed), round);
    }
  });
}

}  // namespace
}  // namespace tutti::test
