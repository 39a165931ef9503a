// Choices that are made by trying: results stay right while the algorithms change, all ranks take the same one, and what
// is slow is left.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/thread_ranks.h"
#include "reduction/reduction.h"

namespace tutti::test {
namespace {

std::uint64_t value_of(int rank, int call, std::size_t i) {
  return static_cast<std::uint64_t>(rank + 1) * 1000003u + static_cast<std::uint64_t>(call) * 7919u + i;
}

/// One Bcast, from another root each time; what ran.
std::string broadcast(int rank, int ranks, Collectives& collectives, int call, std::size_t count) {
  const int root = call % ranks;
  std::vector<std::uint64_t> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = rank == root ? value_of(root, call, i) : 0;
  EXPECT_TRUE(collectives.bcast({reinterpret_cast<std::byte*>(data.data()), count * sizeof data[0], root}));
  for (std::size_t i = 0; i < count; ++i) {
    if (data[i] == value_of(root, call, i)) continue;
    ADD_FAILURE() << collectives.last_algorithm() << " rank " << rank << " call " << call << " element " << i;
    break;
  }
  return collectives.last_algorithm();
}

std::string sum_up(int rank, int ranks, Collectives& collectives, int call, std::size_t count) {
  Combiner combiner;
  combiner.element_bytes = sizeof(std::uint64_t);
  combiner.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::u64);
  std::vector<std::uint64_t> mine(count), sum(count);
  for (std::size_t i = 0; i < count; ++i) mine[i] = value_of(rank, call, i);
  EXPECT_TRUE(collectives.allreduce(
      {reinterpret_cast<const std::byte*>(mine.data()), reinterpret_cast<std::byte*>(sum.data()), count, &combiner}));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t expected = 0;
    for (int each = 0; each < ranks; ++each) expected += value_of(each, call, i);
    if (sum[i] == expected) continue;
    ADD_FAILURE() << collectives.last_algorithm() << " rank " << rank << " call " << call << " element " << i;
    break;
  }
  return collectives.last_algorithm();
}

constexpr std::size_t count = 5000;  // 40,000 bytes

TEST(Trying, ResultsStayRightAndAllTakeTheSame) {
  for (const int ranks : {2, 3, 4, 5})
    for (const char* algorithm : {"", "bcast:direct-read,scatter-allgather;allreduce:xhc,share"}) {
      World world;
      world.is_new = true;
      world.ranks = ranks;
      world.algorithm = algorithm;
      world.cache_bytes = std::size_t{64} << 20;
      const auto p = static_cast<std::size_t>(ranks);
      const int calls = short_sweep() ? 150 : 600;
      std::vector<std::vector<std::string>> ran(p);
      run_ranks(world, [&](int rank, Collectives& collectives) {
        auto& mine = ran[static_cast<std::size_t>(rank)];
        for (int call = 0; call < calls; ++call) {
          mine.push_back(broadcast(rank, ranks, collectives, call, count));
          if (call % 3 == 0) mine.push_back(sum_up(rank, ranks, collectives, call, count));
        }
      });
      std::map<std::string, int> names;
      for (const std::string& name : ran[0]) ++names[name];
      EXPECT_GT(names.size(), 2u) << "nothing was tried: " << ranks << " ranks " << algorithm;
      for (std::size_t rank = 1; rank < p; ++rank) EXPECT_EQ(ran[rank], ran[0]) << "rank " << rank;
    }
}

TEST(Trying, LongMessagesAreOfOneAlgorithm) {
  World world;
  world.is_new = true;
  world.ranks = 3;
  world.algorithm = "bcast:direct-read,direct-write";
  world.settings.segment = 16 * 1024;
  run_ranks(world, [&](int rank, Collectives& collectives) {
    for (int call = 0; call < 200; ++call) broadcast(rank, 3, collectives, call, count);
  });
}

TEST(Trying, WhatIsNotTriedTakesOneAlgorithm) {
  struct Case {
    const char* what;
    bool tries;
    std::size_t elements;
    const char* algorithm;
  };
  for (const Case& each : {Case{"small", true, 250, "bcast:direct-read,direct-write,knomial-read"},
                           Case{"switched off", false, count, "bcast:direct-read,direct-write,knomial-read"},
                           Case{"one", true, count, "bcast:direct-read"}}) {
    World world;
    world.is_new = true;
    world.algorithm = each.algorithm;
    world.settings.try_choices = each.tries;
    world.settings.explain = "1";
    run_ranks(world, [&](int rank, Collectives& collectives) {
      for (int call = 0; call < 50; ++call) broadcast(rank, 2, collectives, call, each.elements);
      EXPECT_EQ(collectives.records().size(), 1u) << each.what;
      EXPECT_NE(collectives.records()[0].reason, selection::Reason::tried) << each.what;
    });
  }
}

TEST(Trying, CallsAreCountedUnderTheAlgorithmThatRan) {
  World world;
  world.is_new = true;
  world.algorithm = "bcast:direct-read,scatter-allgather";
  world.settings.explain = "1";
  run_ranks(world, [&](int rank, Collectives& collectives) {
    std::map<std::string, std::uint64_t> ran;
    for (int call = 0; call < 120; ++call) {
      ++ran[broadcast(rank, 2, collectives, call, count)];
      collectives.take_last_record()->count("window", 1, 1);
    }
    ASSERT_EQ(collectives.records().size(), 2u);
    for (const CallRecord& record : collectives.records()) {
      EXPECT_EQ(record.reason, selection::Reason::tried);
      EXPECT_EQ(record.calls, ran[record.algorithm]);
      EXPECT_GT(record.calls, 5u);
    }
  });
}

TEST(Attempts, WhatIsSlowIsLeft) {
  for (const int ranks : {1, 2, 3}) {
    World world;
    world.is_new = true;
    world.ranks = ranks;
    world.settings.timeout = 0;
    run_ranks(world, [&](int rank, Collectives& collectives) {
      Communicator& communicator = collectives.communicator();
      Attempts attempts(communicator, 0, 3);
      std::map<int, int> late;
      for (int call = 0; call < 500; ++call) {
        const int candidate = attempts.next();
        if (call >= 300) ++late[candidate];
        collectives.barrier({});
        // The last one ends it: two ranks are quick whatever is taken.
        const std::uint64_t begin = ticks(), passes = candidate == 1 ? 0 : 1'000'000;
        while (rank == ranks - 1 && ticks() - begin < passes) {
        }
        attempts.ends();
      }
      EXPECT_GT(late[1], 150) << ranks << " ranks";
    });
  }
}

}  // namespace
}  // namespace tutti::test
