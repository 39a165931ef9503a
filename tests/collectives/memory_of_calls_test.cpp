// Buffers that peers map, and others: all ranks find out in which calls they have which, and take what is fast there.
#include "collectives/memory_of_calls.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/thread_ranks.h"
#include "reduction/reduction.h"

namespace tutti::test {
namespace {

/// Ranks with a window that holds all memory, or none: what it does not hold the kernel reaches, and no copies are lent.
World world_of(int ranks) {
  World world;
  world.is_new = true;
  world.ranks = ranks;
  world.reach = Reach::window;
  world.and_cma = true;
  world.cache_bytes = std::size_t{64} << 20;
  return world;
}

void have_memory_mapped(Collectives& collectives, bool mapped) {
  static constinit const std::atomic<std::size_t> everywhere{SIZE_MAX};
  Node& node = collectives.communicator().node();
  node.window_extent = mapped ? &everywhere : nullptr;
  node.may_stage = false;
}

constexpr std::size_t count = 16'000;

std::string reduce(int rank, int ranks, Collectives& collectives, int call) {
  Combiner combiner;
  combiner.element_bytes = sizeof(std::int32_t);
  combiner.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::i32);
  std::vector<std::int32_t> mine(count, rank + call), sum(count);
  ReduceArguments arguments;
  arguments.send = reinterpret_cast<const std::byte*>(mine.data());
  arguments.receive = rank == 0 ? reinterpret_cast<std::byte*>(sum.data()) : nullptr;
  arguments.count = count;
  arguments.combiner = &combiner;
  EXPECT_TRUE(collectives.reduce(arguments));
  const std::int32_t expected = ranks * (ranks - 1) / 2 + ranks * call;
  EXPECT_EQ(rank == 0 ? sum : std::vector<std::int32_t>(count, expected), std::vector<std::int32_t>(count, expected))
      << collectives.last_algorithm() << " call " << call;
  return collectives.last_algorithm();
}

bool stores(const std::string& algorithm) {
  return algorithm == "share" || algorithm == "reduce-scatter-gather";
}

TEST(MemoryOfCalls, TheKernelStoresIntoNoBuffers) {
  for (const int ranks : {2, 3}) {
    std::vector<std::vector<std::string>> ran(static_cast<std::size_t>(ranks));
    run_ranks(world_of(ranks), [&](int rank, Collectives& collectives) {
      have_memory_mapped(collectives, false);
      for (int call = 0; call < 150; ++call)
        ran[static_cast<std::size_t>(rank)].push_back(reduce(rank, ranks, collectives, call));
    });
    EXPECT_TRUE(stores(ran[0][0])) << "the test has no sense otherwise";
    // Whoever begins this operation sees what rank 0 has found in the first.
    for (std::size_t call = selection::Decision::from_after(1) - 1; call < ran[0].size(); ++call)
      EXPECT_FALSE(stores(ran[0][call])) << ran[0][call] << " of " << ranks << " ranks in call " << call;
    for (const auto& each : ran) EXPECT_EQ(each, ran[0]);
  }
}

TEST(MemoryOfCalls, TheMemoryMayChange) {
  std::vector<std::vector<std::string>> ran(2);
  run_ranks(world_of(2), [&](int rank, Collectives& collectives) {
    for (int call = 0; call < 300; ++call) {
      have_memory_mapped(collectives, call < 100 || call >= 200);
      ran[static_cast<std::size_t>(rank)].push_back(reduce(rank, 2, collectives, call));
    }
  });
  EXPECT_EQ(ran[0], ran[1]);
  int stored[3]{};
  for (std::size_t call = 0; call < ran[0].size(); ++call)
    stored[call / 100] += call % 100 >= 50 && stores(ran[0][call]);
  EXPECT_EQ(stored[1], 0);
  // Which one is fastest here is not asked.
  EXPECT_GT(stored[0] + stored[2], 0);
}

TEST(MemoryOfCalls, OneCallOfTheOtherKindChangesNothing) {
  World world = world_of(1);
  run_ranks(world, [](int, Collectives& collectives) {
    MemoryOfCalls memory(collectives.communicator(), 2 * tried_choices);
    for (int call = 0; call < 500; ++call) {
      collectives.barrier({});
      EXPECT_TRUE(memory.are_mapped([&] { return call % 5 != 4; })) << call;
    }
    for (int call = 0; call < 100; ++call) {
      collectives.barrier({});
      const bool mapped = memory.are_mapped([] { return false; });
      EXPECT_TRUE(!mapped || call <= 50) << call;
    }
  });
}

}  // namespace
}  // namespace tutti::test
