// Buffers that peers reach through the kernel only: lent as they are or as copies, whichever is faster.
#include "engine/staging_trial.h"

#include <gtest/gtest.h>

#include <memory>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"
#include "reduction/reduction.h"

namespace tutti::test {
namespace {

TEST(StagingTrial, LendsNoCopiesWithoutAPlaceToLearn) {
  StagingTrial trial(nullptr);
  EXPECT_FALSE(trial.lends_copies());
  trial.ends();
}

TEST(StagingTrial, LearnsNothingFromCallsThatHaveNoSuchMemory) {
  std::unique_ptr<Ways> ways;
  StagingTrial(&ways).ends();
  EXPECT_EQ(ways, nullptr);
}

TEST(StagingTrial, KeepsToWhatIsFaster) {
  for (const bool copies_are_faster : {false, true}) {
    std::unique_ptr<Ways> ways;
    int copies = 0;
    for (int call = 0; call < 300; ++call) {
      StagingTrial trial(&ways);
      const bool copy = trial.lends_copies();
      EXPECT_EQ(trial.lends_copies(), copy) << "one call does one thing";
      const std::uint64_t end = ticks() + (copy == copies_are_faster ? 20'000 : 200'000);
      while (ticks() < end) {
      }
      trial.ends();
      if (call >= 100) copies += copy;
    }
    EXPECT_TRUE(copies_are_faster ? copies > 100 : copies < 100) << copies << " of 200";
  }
}

constexpr std::size_t bytes = 70'000;
constexpr int calls = 24;

World world_of(int ranks, bool oversubscribed, const std::string& algorithm) {
  World world;
  world.is_new = true;
  world.ranks = ranks;
  world.reach = Reach::cma;
  world.oversubscribed = oversubscribed;
  world.algorithm = algorithm;
  world.may_stage = true;
  return world;
}

/// Runs `call(rank, collectives, number)` often enough that each rank has done both.
template <class Call>
void expect_both(const std::string& algorithm, Call call) {
  for (const int ranks : {2, 3}) {
    for (const bool oversubscribed : {false, true}) {
      std::vector<int> copies(static_cast<std::size_t>(ranks)), all(static_cast<std::size_t>(ranks));
      run_ranks(world_of(ranks, oversubscribed, algorithm), [&](int rank, Collectives& collectives) {
        for (int i = 0; i < calls; ++i) {
          call(rank, ranks, collectives, i);
          copies[static_cast<std::size_t>(rank)] += collectives.lends_copies();
          ++all[static_cast<std::size_t>(rank)];
        }
      });
      for (std::size_t i = 0; i < copies.size(); ++i) {
        EXPECT_GT(copies[i], 0) << algorithm << ", rank " << i << " of " << ranks;
        EXPECT_LT(copies[i], all[i]) << algorithm << ", rank " << i << " of " << ranks;
      }
    }
  }
}

TEST(StagingTrial, AlltoallIsRightEitherWay) {
  expect_both("", [](int rank, int ranks, Collectives& collectives, int call) {
    const std::size_t all = static_cast<std::size_t>(ranks) * bytes;
    std::vector<std::byte> send(all), expected(all), receive(all, std::byte{0xee});
    for (int other = 0; other < ranks; ++other) {
      fill_block(send.data() + static_cast<std::size_t>(other) * bytes, bytes, rank, other, call);
      fill_block(expected.data() + static_cast<std::size_t>(other) * bytes, bytes, other, rank, call);
    }
    AlltoallArguments arguments;
    arguments.send = Blocks::regular(send.data(), bytes);
    arguments.receive = Blocks::regular(receive.data(), bytes);
    ASSERT_TRUE(collectives.alltoall(arguments));
    ASSERT_EQ(first_difference(receive, expected), receive.size()) << ranks << " ranks, call " << call;
  });
}

Combiner sum_of_ints() {
  Combiner combiner;
  combiner.element_bytes = sizeof(std::int32_t);
  combiner.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::i32);
  return combiner;
}

constexpr std::size_t count = bytes / sizeof(std::int32_t);

std::vector<std::int32_t> numbers_of(int rank, int call) {
  std::vector<std::int32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int32_t>(i) * (rank + 1) + call;
  return numbers;
}

void expect_sums(const std::vector<std::int32_t>& received, int ranks, int call) {
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(received[i], static_cast<std::int32_t>(i) * (ranks * (ranks + 1) / 2) + call * ranks)
        << "element " << i << ", call " << call;
}

TEST(StagingTrial, AllreduceIsRightEitherWayAndInPlace) {
  expect_both("allreduce:direct", [](int rank, int ranks, Collectives& collectives, int call) {
    const Combiner combiner = sum_of_ints();
    std::vector<std::int32_t> send = numbers_of(rank, call), receive(count, -1);
    const bool in_place = call % 3 == rank % 3;
    AllreduceArguments arguments;
    arguments.combiner = &combiner;
    arguments.count = count;
    if (in_place) receive = send;
    arguments.receive = reinterpret_cast<std::byte*>(receive.data());
    arguments.send = in_place ? arguments.receive : reinterpret_cast<const std::byte*>(send.data());
    ASSERT_TRUE(collectives.allreduce(arguments));
    expect_sums(receive, ranks, call);
  });
}

TEST(StagingTrial, ReduceIsRightEitherWay) {
  expect_both("reduce:direct", [](int rank, int ranks, Collectives& collectives, int call) {
    const Combiner combiner = sum_of_ints();
    std::vector<std::int32_t> send = numbers_of(rank, call), receive(count, -1);
    ReduceArguments arguments;
    arguments.combiner = &combiner;
    arguments.count = count;
    arguments.root = call % ranks;
    arguments.send = reinterpret_cast<const std::byte*>(send.data());
    arguments.receive = rank == arguments.root ? reinterpret_cast<std::byte*>(receive.data()) : nullptr;
    ASSERT_TRUE(collectives.reduce(arguments));
    if (rank == arguments.root) expect_sums(receive, ranks, call);
  });
}

}  // namespace
}  // namespace tutti::test
