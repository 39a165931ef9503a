// Flags that belong to nobody in an operation say that everything has been reached; and the numbers that they count
// operations by go on for longer than a machine.
#include "engine/flags.h"

#include <array>
#include <bit>
#include <string>
#include <vector>

#include "collectives/thread_ranks.h"
#include "reduction/reduction.h"

namespace tutti::test {
namespace {

constexpr FlagName one{Line::ready, 3};
constexpr FlagName other{Line::ready, 4};
constexpr FlagRow row{Line::ready, 4, 2};

static_assert(FlagSet::disjoint(one, other) && FlagSet::disjoint(one, row) && !FlagSet::disjoint(other, row));
static_assert(!FlagSet::disjoint(FlagSet::of(one, row), FlagSet::of(done_flag, other)));
static_assert(FlagSet::disjoint(FlagSet::of(one, row), FlagSet::of(done_flag)));

TEST(Flags, OfARowEndWithIt) {
  EXPECT_THROW(row[2], std::out_of_range);
  EXPECT_THROW(row[-1], std::out_of_range);
}

/// Rank 1 awaits `other` of rank 0, which raises that after rank 1 is done.
Task await_too_early(Operation& operation) {
  if (operation.communicator().rank() == 0) {
    co_await operation.done(1);
    operation.publish(other);
  } else {
    co_await operation.has(0, other);
    operation.publish_done();
  }
}

TEST(Flags, ThatAreNotDeclaredDoNotKeepAnybodyWaiting) {
  run_ranks({}, [](int, Collectives& collectives) {
    for (std::uint64_t i = 0; i < 3 * ring_slots; ++i) {
      Call call("Flags", 1, 0);
      Operation operation(collectives.communicator().blocking(), call);
      operation.run(only_done, await_too_early(operation));
    }
  });
}

/// Rank 1 awaits `one` of rank 0; where it was poisoned before, it must not be taken for this operation's.
Task await_declared(Operation& operation, int& value) {
  if (operation.communicator().rank() == 0) {
    std::this_thread::yield();
    value = static_cast<int>(operation.sequence());
    operation.publish(one);
    co_await operation.done(1);
  } else {
    co_await operation.has(0, one);
    EXPECT_EQ(value, static_cast<int>(operation.sequence()));
    operation.publish_done();
  }
}

TEST(Flags, ThatAreDeclaredAreNewInEachOperation) {
  int value = 0;
  run_ranks({}, [&](int, Collectives& collectives) {
    for (std::uint64_t i = 0; i < 3 * ring_slots; ++i) {
      Call call("Flags", 1, 0);
      {
        Operation operation(collectives.communicator().blocking(), call);
        operation.run(only_done, await_too_early(operation));
      }
      for (std::uint64_t each = 1; each < ring_slots; ++each) {
        Operation operation(collectives.communicator().blocking(), call);
        operation.run(FlagSet::of(one, done_flag), await_declared(operation, value));
      }
    }
  });
}

/// Where numbers have ended or would, if they had so many bits: of a sequence in a stamp, its sign, a decision's.
constexpr std::array<std::uint64_t, 4> ends{std::uint64_t{1} << 39, std::uint64_t{1} << 40, std::uint64_t{1} << 47,
                                            sequence_max};
constexpr std::uint64_t before_end(std::uint64_t end) {
  return end / (2 * ring_slots) * (2 * ring_slots) - 4 * ring_slots;
}

const Combiner& sum() {
  static const Combiner combiner = [] {
    Combiner made;
    made.element_bytes = sizeof(std::uint64_t);
    made.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::u64);
    return made;
  }();
  return combiner;
}

/// One rank's buffers of a call, by its number.
struct Example {
  Example(int of, int all, std::uint64_t number, std::size_t count)
      : rank(of), ranks(all), call(number), mine(count, value(of)), result(count) {}
  std::uint64_t value(int of) const { return call * 1000 + static_cast<std::uint64_t>(of); }
  AllreduceArguments allreduce() {
    return {reinterpret_cast<const std::byte*>(mine.data()), reinterpret_cast<std::byte*>(result.data()), mine.size(),
            &sum()};
  }
  void expect_sum() const {
    std::uint64_t all = 0;
    for (int each = 0; each < ranks; ++each) all += value(each);
    EXPECT_EQ(result, std::vector<std::uint64_t>(result.size(), all)) << "call " << call << " rank " << rank;
  }
  BcastArguments bcast() { return {reinterpret_cast<std::byte*>(mine.data()), mine.size() * 8, 0}; }
  void expect_value() const {
    EXPECT_EQ(mine, std::vector<std::uint64_t>(mine.size(), value(0))) << "call " << call << " rank " << rank;
  }
  int rank, ranks;
  std::uint64_t call;
  std::vector<std::uint64_t> mine, result;
};

void call_often(int rank, int ranks, Collectives& collectives, const std::vector<std::size_t>& counts, int times) {
  for (int call = 0; call < times; ++call) {
    Example example(rank, ranks, static_cast<std::uint64_t>(call),
                    counts[static_cast<std::size_t>(call) % counts.size()]);
    if (call % 5 == 0) collectives.communicator().given_to_host();
    switch (call % 3) {
      case 0:
        EXPECT_TRUE(collectives.barrier({}));
        break;
      case 1:
        EXPECT_TRUE(collectives.bcast(example.bcast()));
        example.expect_value();
        break;
      default:
        EXPECT_TRUE(collectives.allreduce(example.allreduce()));
        example.expect_sum();
    }
  }
}

void start_often(int rank, int ranks, LivedIn& collectives, std::size_t count, int times) {
  for (int call = 0; call < times; ++call) {
    Example first(rank, ranks, static_cast<std::uint64_t>(call), count);
    Example second(rank, ranks, static_cast<std::uint64_t>(call) + 7, count);
    const auto reduced = collectives.prepare(first.allreduce());
    const auto sent = collectives.prepare(second.bcast());
    reduced->start();
    sent->start();
    // They end in another order than they began.
    while (!sent->progress()) collectives.turn();
    while (!reduced->progress()) collectives.turn();
    first.expect_sum();
    second.expect_value();
  }
}

TEST(Numbers, DoNotEndWhereTheyHadOrWouldHave) {
  for (const std::uint64_t end : ends)
    for (const char* algorithm :
         {"barrier:tree;bcast:xhc;allreduce:xhc", "barrier:flat;bcast:meeting;allreduce:exchange"}) {
      World world;
      world.ranks = 3;
      world.algorithm = algorithm;
      world.after = before_end(end);
      run_ranks(world, [&](int rank, LivedIn& collectives) {
        call_often(rank, world.ranks, collectives, {4, 3000, 20'000}, 2 * static_cast<int>(ring_slots));
        start_often(rank, world.ranks, collectives, 3000, static_cast<int>(ring_slots));
      });
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace tutti::test
