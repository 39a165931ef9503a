// Buffers that peers reach through the kernel only: lent as copies, or as they are.
#include <gtest/gtest.h>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"
#include "reduction/reduction.h"

namespace tutti::test {
namespace {

constexpr std::size_t bytes = 70'000;

World world_of(int ranks, bool oversubscribed, bool may_stage, const std::string& algorithm) {
  World world;
  world.is_new = true;
  world.ranks = ranks;
  world.reach = Reach::cma;
  world.oversubscribed = oversubscribed;
  world.algorithm = algorithm;
  world.may_stage = may_stage;
  return world;
}

/// Runs `call(rank, ranks, collectives, number)` where copies may be lent and where not; it is right in both.
template <class Call>
void expect_copies(const std::string& algorithm, Call call) {
  for (const int ranks : {2, 3})
    for (const bool oversubscribed : {false, true})
      for (const bool may_stage : {false, true})
        run_ranks(world_of(ranks, oversubscribed, may_stage, algorithm), [&](int rank, Collectives& collectives) {
          for (int i = 0; i < 4; ++i) {
            const Collectives::Done done = call(rank, ranks, collectives, i);
            EXPECT_TRUE(may_stage || !done.lends_copies) << algorithm << ", rank " << rank << " of " << ranks;
          }
        });
}

Collectives::Done alltoall(int rank, int ranks, Collectives& collectives, int call) {
  const std::size_t all = static_cast<std::size_t>(ranks) * bytes;
  std::vector<std::byte> send(all), expected(all), receive(all, std::byte{0xee});
  for (int other = 0; other < ranks; ++other) {
    fill_block(send.data() + static_cast<std::size_t>(other) * bytes, bytes, rank, other, call);
    fill_block(expected.data() + static_cast<std::size_t>(other) * bytes, bytes, other, rank, call);
  }
  AlltoallArguments arguments;
  arguments.send = Blocks::regular(send.data(), bytes);
  arguments.receive = Blocks::regular(receive.data(), bytes);
  const Collectives::Done done = collectives.alltoall(arguments);
  EXPECT_TRUE(done);
  EXPECT_EQ(first_difference(receive, expected), receive.size()) << ranks << " ranks, call " << call;
  return done;
}

TEST(LentCopies, AlltoallIsRightEitherWay) {
  expect_copies("", alltoall);
}

TEST(LentCopies, AreOfWhatFitsASegmentOrTwo) {
  for (const bool fits : {true, false}) {
    World world = world_of(2, false, true, "alltoall:direct");
    // Both buffers hold two blocks.
    world.settings.segment = fits ? 2 * bytes : bytes;
    run_ranks(world, [&](int rank, Collectives& collectives) {
      EXPECT_EQ(alltoall(rank, 2, collectives, 0).lends_copies, fits) << rank;
    });
  }
}

TEST(LentCopies, APendingCallLendsThemToo) {
  run_ranks(world_of(2, false, true, "bcast:direct-read"), [](int rank, Collectives& collectives) {
    std::vector<std::byte> data(bytes), expected(bytes);
    fill_block(expected.data(), bytes, 0, 1, 7);
    if (rank == 0) data = expected;
    BcastArguments arguments;
    arguments.buffer = data.data();
    arguments.bytes = bytes;
    const auto call = collectives.prepare(arguments);
    ASSERT_TRUE(call);
    call->start();
    while (!call->progress()) {
    }
    EXPECT_EQ(first_difference(data, expected), bytes);
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

TEST(LentCopies, AllreduceIsRightEitherWayAndInPlace) {
  expect_copies("allreduce:direct", [](int rank, int ranks, Collectives& collectives, int call) {
    const Combiner combiner = sum_of_ints();
    std::vector<std::int32_t> send = numbers_of(rank, call), receive(count, -1);
    const bool in_place = call % 3 == rank % 3;
    AllreduceArguments arguments;
    arguments.combiner = &combiner;
    arguments.count = count;
    if (in_place) receive = send;
    arguments.receive = reinterpret_cast<std::byte*>(receive.data());
    arguments.send = in_place ? arguments.receive : reinterpret_cast<const std::byte*>(send.data());
    const Collectives::Done done = collectives.allreduce(arguments);
    EXPECT_TRUE(done);
    expect_sums(receive, ranks, call);
    return done;
  });
}

TEST(LentCopies, ReduceIsRightEitherWay) {
  expect_copies("reduce:direct", [](int rank, int ranks, Collectives& collectives, int call) {
    const Combiner combiner = sum_of_ints();
    std::vector<std::int32_t> send = numbers_of(rank, call), receive(count, -1);
    ReduceArguments arguments;
    arguments.combiner = &combiner;
    arguments.count = count;
    arguments.root = call % ranks;
    arguments.send = reinterpret_cast<const std::byte*>(send.data());
    arguments.receive = rank == arguments.root ? reinterpret_cast<std::byte*>(receive.data()) : nullptr;
    const Collectives::Done done = collectives.reduce(arguments);
    EXPECT_TRUE(done);
    if (rank == arguments.root) expect_sums(receive, ranks, call);
    return done;
  });
}

}  // namespace
}  // namespace tutti::test
