// Two ranks that meet in a message: every byte is copied by one of them, whoever is slow and whoever comes late.
#include "collectives/common/meeting.h"

#include <random>

#include "collectives/thread_ranks.h"

namespace tutti {
namespace {

constexpr int operations = 400;
constexpr int pause_max_us = 30;

/// Counts the copies of every grain; each grain has a counter of its own, so that a second copy is a race for TSan too.
struct Counts {
  explicit Counts(std::size_t bytes) : of_grain((bytes + grain_bytes - 1) / grain_bytes) {}
  void copy(std::size_t begin, std::size_t end) {
    for (std::size_t grain = begin / grain_bytes; grain * grain_bytes < end; ++grain) ++of_grain[grain];
  }
  std::vector<int> of_grain;
};

/// Now and then lets the other rank go ahead.
class Pauses {
 public:
  explicit Pauses(unsigned seed) : random_(seed) {}
  void pause() {
    if (const int us = static_cast<int>(random_() % (2 * pause_max_us)) - pause_max_us; us > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(us));
  }

 private:
  std::mt19937 random_;
};

Task first_rank(Operation& operation, Meeting meeting, Counts& counts, Pauses& pauses, int distance) {
  const auto copy = [&counts, &pauses](std::size_t begin, std::size_t end) {
    counts.copy(begin, end);
    pauses.pause();
  };
  pauses.pause();
  copy(0, meeting.front());
  co_await Meeting::meet(operation, meeting, 0, distance, copy);
}

Task helper(Operation& operation, Meeting meeting, std::vector<Counts>& counts, Pauses& pauses) {
  for (int rank = 1; rank < operation.communicator().size(); ++rank) {
    pauses.pause();
    const std::uint64_t kept = meeting.help(operation, rank, rank, [&](std::size_t begin, std::size_t end) {
      counts[static_cast<std::size_t>(rank)].copy(begin, end);
      pauses.pause();
    });
    Meeting::say_kept(operation, rank, kept);
  }
  for (int rank = 1; rank < operation.communicator().size(); ++rank) {
    co_await operation.done(rank, meeting.awaited(operation, rank));
    for (const int copies : counts[static_cast<std::size_t>(rank)].of_grain) EXPECT_EQ(copies, 1);
  }
}

void meet_often(int ranks, std::size_t bytes, Meeting::Shares shares) {
  if (!test::ordered_loads_wait()) GTEST_SKIP() << "loads pass stores with sequential consistency here";
  const Meeting meeting(bytes, ranks, shares);
  std::vector<std::vector<Counts>> counts(operations,
                                          std::vector<Counts>(static_cast<std::size_t>(ranks), Counts(bytes)));
  test::World world;
  world.ranks = ranks;
  test::run_ranks(world, [&](int rank, Collectives& collectives) {
    Pauses pauses(static_cast<unsigned>(rank));
    for (auto& of_operation : counts) {
      Call call("Meeting", 1, bytes);
      Operation operation(collectives.communicator().blocking(), call);
      operation.run(Meeting::flags, rank == 0 ? helper(operation, meeting, of_operation, pauses)
                                              : first_rank(operation, meeting,
                                                           of_operation[static_cast<std::size_t>(rank)], pauses, rank));
      if (rank == 0) continue;
      for (const int copies : of_operation[static_cast<std::size_t>(rank)].of_grain) EXPECT_EQ(copies, 1);
    }
  });
}

TEST(Meeting, EveryByteIsCopiedOnce) {
  meet_often(2, 16 * grain_bytes, {.front = 4, .back = 12});
}

TEST(Meeting, EveryByteIsCopiedOnceWithAnOddEnd) {
  meet_often(2, 100'001, {.front = 8, .back = 16});
}

TEST(Meeting, EveryRankIsHelpedOnce) {
  meet_often(4, 64 * grain_bytes, {.front = 8, .back = 12});
}

TEST(Meeting, CallsOfTheHostAreNobodysLastWord) {
  test::World world;
  world.ranks = 16;
  world.algorithm = "bcast:meeting";
  test::run_ranks(world, [](int rank, Collectives& collectives) {
    for (int i = 0; i < 200; ++i) collectives.communicator().given_to_host();
    std::vector<std::byte> buffer(std::size_t{256} << 10);
    for (int call = 1; call <= 50; ++call) {
      collectives.communicator().given_to_host();
      const auto sent = static_cast<std::byte>(call);
      std::fill(buffer.begin(), buffer.end(), rank == 0 ? sent : std::byte{0});
      ASSERT_TRUE(collectives.bcast({buffer.data(), buffer.size(), 0}));
      ASSERT_EQ(std::count(buffer.begin(), buffer.end(), sent), std::ssize(buffer)) << "rank " << rank;
    }
  });
}

TEST(Meeting, MoreRanksThanALineHasFlags) {
  meet_often(17, 256 * grain_bytes, {.front = 8, .back = 12});
}

}  // namespace
}  // namespace tutti
