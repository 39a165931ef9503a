// Ranks that are in different calls: at least one is told, nobody waits forever, no byte is stored outside a buffer.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

constexpr std::byte guard{0x5a};
constexpr std::size_t guard_bytes = 40'000;

/// Bytes that a call may use, with others behind that it may not.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes), memory_(bytes + guard_bytes, guard) {
    std::fill(memory_.begin(), memory_.end() - guard_bytes, std::byte{1});
  }
  std::byte* data() { return memory_.data(); }
  bool intact() const {
    static const std::vector<std::byte> expected(guard_bytes, guard);
    return std::memcmp(memory_.data() + bytes_, expected.data(), guard_bytes) == 0;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

void add(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
         reduction::Order /*order*/) {
  for (std::size_t i = 0; i < elements; ++i) {
    unsigned sum = 0;
    for (std::size_t s = 0; s < count; ++s)
      sum += std::to_integer<unsigned>(static_cast<const std::byte*>(sources[s])[i]);
    static_cast<std::byte*>(destination)[i] = static_cast<std::byte>(sum);
  }
}

/// A call on `rank` of `ranks` with messages or blocks of so many bytes, the root being 0. True if it kept to its
/// buffers.
using Call = std::function<bool(Collectives&, std::size_t bytes, int rank, int ranks)>;

bool bcast(Collectives& collectives, std::size_t bytes, int, int) {
  Guarded buffer(bytes);
  struct Check {  // also when the call throws
    Guarded& buffer;
    ~Check() { EXPECT_TRUE(buffer.intact()); }
  } check{buffer};
  return collectives.bcast({buffer.data(), bytes, 0});
}

/// send and receive: buffers of so many bytes.
template <class Run>
bool with_buffers(std::size_t send_bytes, std::size_t receive_bytes, Run&& run) {
  Guarded send(send_bytes), receive(receive_bytes);
  struct Check {
    Guarded &send, &receive;
    ~Check() { EXPECT_TRUE(send.intact() && receive.intact()); }
  } check{send, receive};
  return run(send.data(), receive.data());
}

Combiner sum_of_bytes() {
  Combiner combiner;
  combiner.function = add;
  return combiner;
}

bool allreduce(Collectives& collectives, std::size_t bytes, int, int) {
  const Combiner combiner = sum_of_bytes();
  return with_buffers(bytes, bytes, [&](std::byte* send, std::byte* receive) {
    return collectives.allreduce({send, receive, bytes, &combiner});
  });
}
bool reduce(Collectives& collectives, std::size_t bytes, int rank, int) {
  const Combiner combiner = sum_of_bytes();
  return with_buffers(bytes, bytes, [&](std::byte* send, std::byte* receive) {
    return collectives.reduce({send, rank == 0 ? receive : nullptr, bytes, &combiner, 0});
  });
}
bool scan(Collectives& collectives, std::size_t bytes, int, int) {
  const Combiner combiner = sum_of_bytes();
  return with_buffers(bytes, bytes, [&](std::byte* send, std::byte* receive) {
    return collectives.scan({send, receive, bytes, &combiner});
  });
}
bool allgather(Collectives& collectives, std::size_t bytes, int, int ranks) {
  return with_buffers(bytes, bytes * static_cast<std::size_t>(ranks), [&](std::byte* send, std::byte* receive) {
    return collectives.allgather({send, bytes, Blocks::regular(receive, bytes)});
  });
}
bool alltoall(Collectives& collectives, std::size_t bytes, int, int ranks) {
  const std::size_t all = bytes * static_cast<std::size_t>(ranks);
  return with_buffers(all, all, [&](std::byte* send, std::byte* receive) {
    return collectives.alltoall({Blocks::regular(send, bytes), Blocks::regular(receive, bytes)});
  });
}
bool gather(Collectives& collectives, std::size_t bytes, int, int ranks) {
  return with_buffers(bytes, bytes * static_cast<std::size_t>(ranks), [&](std::byte* send, std::byte* receive) {
    return collectives.gather({send, bytes, Blocks::regular(receive, bytes), 0});
  });
}
bool scatter(Collectives& collectives, std::size_t bytes, int, int ranks) {
  return with_buffers(bytes * static_cast<std::size_t>(ranks), bytes, [&](std::byte* send, std::byte* receive) {
    return collectives.scatter({Blocks::regular(send, bytes), receive, bytes, 0});
  });
}
bool barrier(Collectives& collectives, std::size_t, int, int) {
  return collectives.barrier({});
}

World world_of(int ranks, Reach reach, const std::string& algorithm) {
  World world;
  world.is_new = true;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = algorithm;
  world.settings.hierarchy = "l3+numa+socket";
  world.settings.chunk = "8K";
  world.settings.segment = 16 * 1024;
  return world;
}

struct Sizes {
  std::size_t others, odd;
};
const std::vector<Sizes> sizes{{48 << 10, 24 << 10}, {24 << 10, 48 << 10}, {100, 8}, {8, 100},
                               {20'000, 15'000},     {30'000, 8}};

/// Enough for somebody to be neither the root nor the odd one.
std::vector<int> few_ranks() {
  if (short_sweep()) return {3};
  return full_sweep() ? std::vector<int>{2, 3, 5} : std::vector<int>{2, 3};
}

/// `odd_one` makes another call, or one with another size, than the others. Returns how many were told; `odd_one_told`.
int told(const World& world, int odd_one, const Call& call, const Call& odd_call, Sizes size, bool& odd_one_told) {
  std::atomic<int> count{0};
  std::atomic<bool> odd{false};
  run_ranks(world, [&](int rank, Collectives& collectives) {
    try {
      const bool is_odd = rank == odd_one;
      (is_odd ? odd_call : call)(collectives, is_odd ? size.odd : size.others, rank, world.ranks);
    } catch (const Disagreement&) {
      count.fetch_add(1);
      if (rank == odd_one) odd = true;
    }
  });
  odd_one_told = odd;
  return count;
}

template <class Arguments>
void sizes_differ(const char* collective, const Call& call, bool odd_one_receives) {
  for (const auto* algorithm : algorithms_of<Arguments>())
    for (const int ranks : few_ranks())
      for (const Reach reach : {Reach::direct, Reach::cma, Reach::staged})
        for (const Sizes size : sizes)
          for (const int odd_one : {ranks - 1, ranks / 2}) {
            bool odd_one_told = false;
            const std::string choice = std::string(collective) + ":" + algorithm->name;
            const int count = told(world_of(ranks, reach, choice), odd_one, call, call, size, odd_one_told);
            EXPECT_TRUE(odd_one_receives ? odd_one_told : count > 0)
                << choice << ", " << name_of(reach) << ", " << ranks << " ranks, rank " << odd_one << " has "
                << size.odd << " bytes, the others " << size.others;
          }
}

TEST(Disagreement, AReaderOfBcastWithAnotherSizeIsTold) {
  sizes_differ<BcastArguments>("bcast", bcast, true);
}
TEST(Disagreement, DifferentSizesOfAllreduceAreSeen) {
  sizes_differ<AllreduceArguments>("allreduce", allreduce, true);
}
TEST(Disagreement, DifferentSizesOfReduceAreSeen) {
  sizes_differ<ReduceArguments>("reduce", reduce, false);
}
TEST(Disagreement, DifferentSizesOfScanAreSeen) {
  sizes_differ<ScanArguments>("scan", scan, false);
}
TEST(Disagreement, DifferentSizesOfAllgatherAreSeen) {
  sizes_differ<AllgatherArguments>("allgather", allgather, true);
}
TEST(Disagreement, DifferentSizesOfAlltoallAreSeen) {
  sizes_differ<AlltoallArguments>("alltoall", alltoall, true);
}
TEST(Disagreement, DifferentSizesOfGatherAreSeen) {
  sizes_differ<GatherArguments>("gather", gather, false);
}
TEST(Disagreement, AReaderOfScatterWithAnotherSizeIsTold) {
  sizes_differ<ScatterArguments>("scatter", scatter, true);
}

/// Whether somebody is told depends on who needs whom: two roots that only send never learn of each other.
TEST(Disagreement, NobodyWaitsForARankInAnotherCollective) {
  const std::vector<Call> calls{bcast, reduce, allreduce, scan, gather, scatter, allgather, alltoall, barrier};
  bool odd_one_told = false;
  for (const int ranks : few_ranks())
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{10'000}, std::size_t{60'000}})
      for (std::size_t one = 0; one < calls.size(); ++one)
        for (std::size_t other = 0; other < calls.size(); ++other)
          for (const int odd_one : {0, ranks - 1})
            if (one != other)
              told(world_of(ranks, Reach::direct, ""), odd_one, calls[one], calls[other], {bytes, bytes}, odd_one_told);
}

TEST(Disagreement, ARankInABarrierIsToldOfABroadcast) {
  for (const auto* algorithm : algorithms_of<BarrierArguments>())
    for (const int ranks : few_ranks())
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{60'000}}) {
        bool odd_one_told = false;
        told(world_of(ranks, Reach::direct, std::string("barrier:") + algorithm->name), ranks - 1, bcast, barrier,
             {bytes, bytes}, odd_one_told);
        EXPECT_TRUE(odd_one_told) << algorithm->name << ", " << ranks << " ranks, " << bytes << " bytes";
      }
}

/// All ranks leave a call that one of them has left: also one that is over for that one.
TEST(Disagreement, ARankThatRevokesTheCommunicatorEndsTheWaitsOfAllForGood) {
  for (const int ranks : few_ranks()) {
    MeetingPoint first_call_is_over(ranks);
    run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
      EXPECT_FALSE(collectives.communicator().revoked());
      EXPECT_TRUE(allreduce(collectives, 1000, rank, ranks));
      // Who revokes sooner ends this call for ranks that still wait in it.
      first_call_is_over.arrive_and_wait();
      if (rank == ranks - 1) {
        collectives.communicator().revoke();
      } else {
        for (int i = 0; i < 2; ++i) {
          EXPECT_THROW(allreduce(collectives, 1000, rank, ranks), Disagreement);
          EXPECT_THROW(barrier(collectives, 0, rank, ranks), Disagreement);
        }
      }
      EXPECT_TRUE(collectives.communicator().revoked());
    });
  }
}

/// Those in which no rank can end before all have come.
const std::vector<Call> meeting_calls{allreduce, allgather, alltoall, barrier};

/// A call of this rank that the host has refused.
void refused(Collectives& collectives) {
  collectives.communicator().given_to_host();
  collectives.communicator().refused_by_host();
}

TEST(Disagreement, CallsThatTheHostRefusesAreNoOperations) {
  for (const int ranks : few_ranks())
    for (const int odd_one : {0, ranks - 1, -1})  // -1: all ranks
      run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
        for (const int times : {1, 2, static_cast<int>(ring_slots) + 3, 300}) {
          for (int i = 0; i < times; ++i)
            if (odd_one < 0 || rank == odd_one) refused(collectives);
          for (const Call& call : meeting_calls) EXPECT_TRUE(call(collectives, 1000, rank, ranks));
          EXPECT_TRUE(bcast(collectives, 10'000, rank, ranks));
        }
      });
}

TEST(Disagreement, ARankWhoseCallWasRefusedMakesItAnew) {
  for (const int ranks : few_ranks())
    for (const int odd_one : {0, ranks - 1})
      run_ranks(world_of(ranks, Reach::staged, ""), [&](int rank, Collectives& collectives) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{10'000}, std::size_t{60'000}})
          for (const Call& call : {Call(bcast), Call(reduce), Call(allreduce), Call(scan), Call(gather), Call(scatter),
                                   Call(allgather), Call(alltoall), Call(barrier)}) {
            if (rank == odd_one) refused(collectives);
            EXPECT_TRUE(call(collectives, bytes, rank, ranks));
          }
      });
}

/// A call that ends well, unless others were quicker to find that it does not match theirs.
void try_call(const Call& call, Collectives& collectives, std::size_t bytes, int rank, int ranks) {
  try {
    call(collectives, bytes, rank, ranks);
  } catch (const Disagreement&) {
  }
}

/// Every call of every rank ends with Disagreement, also those that wait for nobody.
void expect_closed(Collectives& collectives, int rank, int ranks) {
  for (int i = 0; i < 2 * static_cast<int>(ring_slots); ++i)
    for (const Call& call : {Call(bcast), Call(gather), Call(barrier)})
      EXPECT_THROW(call(collectives, 8, rank, ranks), Disagreement);
}

TEST(Disagreement, ARefusedCallThatOthersAreInEndsAllCallsOfAllRanks) {
  for (const int ranks : few_ranks())
    for (const int odd_one : {0, ranks - 1})
      for (std::size_t i = 0; i < meeting_calls.size(); ++i) {
        MeetingPoint first_call_is_over(ranks);
        run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
          EXPECT_TRUE(allreduce(collectives, 1000, rank, ranks));
          // What the odd one finds out would end this call for ranks that still wait in it.
          first_call_is_over.arrive_and_wait();
          if (rank == odd_one) refused(collectives);
          const Call& call = meeting_calls[rank == odd_one ? (i + 1) % meeting_calls.size() : i];
          EXPECT_THROW(call(collectives, 1000, rank, ranks), Disagreement);
          expect_closed(collectives, rank, ranks);
        });
      }
}

/// The root of the refused call has sent what is small and is a call ahead of the rank that did not take part. The next
/// calls of all are alike and would be paired with one another's neighbours.
TEST(Disagreement, ARootThatHasGoneOnIsToldToo) {
  for (const int ranks : few_ranks())
    run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
      if (rank == ranks - 1)
        refused(collectives);
      else
        try_call(bcast, collectives, 8, rank, ranks);
      EXPECT_THROW(allreduce(collectives, 8, rank, ranks), Disagreement);
      expect_closed(collectives, rank, ranks);
    });
}

/// The same if the rank did not wait for anybody in its first call after the refused one, so that this one "succeeded".
TEST(Disagreement, ARankThatWasRefusedLongAgoIsStillOutOfStep) {
  for (const int ranks : few_ranks())
    run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
      if (rank == 0) {
        refused(collectives);
        EXPECT_TRUE(bcast(collectives, 8, rank, ranks));
      } else {
        try_call(gather, collectives, 8, rank, ranks);
        EXPECT_THROW(bcast(collectives, 8, rank, ranks), Disagreement);
      }
      EXPECT_THROW(allreduce(collectives, 8, rank, ranks), Disagreement);
      expect_closed(collectives, rank, ranks);
    });
}

TEST(Disagreement, RanksOfWhichAllWereRefusedAreInStep) {
  for (const int ranks : few_ranks())
    run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
      for (int i = 0; i < 3; ++i) {
        refused(collectives);
        EXPECT_THROW(allreduce(collectives, rank == 0 ? 100 : 1000, rank, ranks), Disagreement);
        // Some are refused again while others still ask how often that had been before.
        refused(collectives);
        EXPECT_TRUE(allreduce(collectives, 1000, rank, ranks));
      }
    });
}

/// The root waits for nobody in messages of a few operations: it has counted them all when a reader has left the first.
TEST(Disagreement, NobodyIsOutOfStepUnawaresAfterALongMessage) {
  for (const int ranks : few_ranks())
    for (const Reach reach : {Reach::direct, Reach::staged})
      for (const char* algorithm : {"", "bcast:smhc-flat", "bcast:xhc"})
        run_ranks(world_of(ranks, reach, algorithm), [&](int rank, Collectives& collectives) {
          const std::size_t bytes = rank == ranks - 1 ? std::size_t{8} << 10 : std::size_t{48} << 10;
          try_call(bcast, collectives, bytes, rank, ranks);
          // Whatever all of them find, they find the same: all in step, or none.
          int worked = 0;
          for (int i = 0; i < 3; ++i) {
            try {
              Guarded send(8), receive(8);
              const Combiner combiner = sum_of_bytes();
              std::fill_n(send.data(), 8, static_cast<std::byte>(i + 1));
              collectives.allreduce({send.data(), receive.data(), 8, &combiner});
              EXPECT_EQ(receive.data()[0], static_cast<std::byte>((i + 1) * ranks));
              ++worked;
            } catch (const Disagreement&) {
            }
          }
          EXPECT_TRUE(worked == 0 || worked == 3) << worked << " calls, " << algorithm;
        });
}

TEST(Disagreement, TheReportOfALongWaitTellsOfARefusedCall) {
  std::atomic<bool> is_refused{false};
  run_ranks(world_of(2, Reach::direct, ""), [&](int rank, Collectives& collectives) {
    Communicator& communicator = collectives.communicator();
    EXPECT_TRUE(barrier(collectives, 0, rank, 2));
    const std::uint64_t next = communicator.blocking().sequence() + 1;
    if (rank == 0) {
      EXPECT_EQ(communicator.blocking().remark(next, 1), "");
      is_refused = true;
    }
    while (!is_refused) take_turn(collectives.communicator().node());
    if (rank == 1) refused(collectives);
    EXPECT_TRUE(barrier(collectives, 0, rank, 2));
    EXPECT_NE(communicator.blocking().remark(next, 1 - rank).find("refused"), std::string::npos);
  });
}

TEST(Disagreement, TheNextCallsAreInOrderAgain) {
  for (const int ranks : few_ranks())
    run_ranks(world_of(ranks, Reach::direct, ""), [&](int rank, Collectives& collectives) {
      for (int i = 0; i < 3; ++i) {
        const std::size_t bytes = rank == ranks - 1 ? 100 : 1000;
        EXPECT_THROW(allreduce(collectives, bytes, rank, ranks), Disagreement);
        EXPECT_TRUE(allreduce(collectives, 1000, rank, ranks));
        EXPECT_TRUE(barrier(collectives, 0, rank, ranks));
      }
    });
}

}  // namespace
}  // namespace tutti::test
