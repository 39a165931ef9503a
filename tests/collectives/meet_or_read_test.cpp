// Ranks that find out how to share the work take each way more than once, whatever takes less time: every call
// gives the right bytes, and nobody touches a buffer after the call.
#include "collectives/block_patterns.h"
#include "collectives/own_memory.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

constexpr int calls = 16;
/// No two of the same number of bits: what is learned of one is not known of another.
const std::vector<std::size_t> sizes{4096, 9001, 40000, 100001};

std::vector<std::byte> pattern(std::size_t bytes, int salt) {
  std::vector<std::byte> made(bytes);
  fill_block(made.data(), bytes, salt, 0, 0);
  return made;
}
std::vector<std::byte> sum(std::vector<std::byte> left, const std::vector<std::byte>& right) {
  add_to(left.data(), right.data(), left.size());
  return left;
}
void add(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements) {
  combine_copies(destination, sources, count, elements, add_to);
}

/// One rank, one call; what both ranks have is pattern(bytes, 2 * salt + rank).
struct Call {
  Collectives& collectives;
  int rank;
  int root;
  bool in_place;
  std::size_t bytes;
  int salt;

  bool is_root() const { return rank == root; }
  std::vector<std::byte> of(int whose) const { return pattern(bytes, 2 * salt + whose); }
};

void bcast(const Call& call) {
  std::vector<std::byte> buffer = call.is_root() ? call.of(call.root) : std::vector<std::byte>(call.bytes);
  ASSERT_TRUE(call.collectives.bcast({buffer.data(), call.bytes, call.root}));
  ASSERT_EQ(first_difference(buffer, call.of(call.root)), buffer.size());
  buffer.assign(call.bytes, std::byte{0});
}

void scatter(const Call& call) {
  std::vector<std::byte> all, receive(call.bytes);
  ScatterArguments arguments;
  if (call.is_root()) {
    all = call.of(0);
    const std::vector<std::byte> second = call.of(1);
    all.insert(all.end(), second.begin(), second.end());
    arguments.send = Blocks::regular(all.data(), call.bytes);
  }
  const bool kept = call.is_root() && call.in_place;
  arguments.receive = kept ? nullptr : receive.data();
  arguments.bytes = call.bytes;
  arguments.root = call.root;
  ASSERT_TRUE(call.collectives.scatter(arguments));
  if (!kept) {
    ASSERT_EQ(first_difference(receive, call.of(call.rank)), receive.size());
  }
  all.assign(all.size(), std::byte{0});
  receive.assign(call.bytes, std::byte{0});
}

void gather(const Call& call) {
  std::vector<std::byte> send = call.of(call.rank), all(call.is_root() ? 2 * call.bytes : 0);
  const bool kept = call.is_root() && call.in_place;
  const auto own = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(call.rank) * call.bytes);
  if (kept) std::copy(send.begin(), send.end(), all.begin() + own);
  GatherArguments arguments;
  if (call.is_root()) arguments.receive = Blocks::regular(all.data(), call.bytes);
  arguments.send = kept ? nullptr : send.data();
  arguments.bytes = call.bytes;
  arguments.root = call.root;
  ASSERT_TRUE(call.collectives.gather(arguments));
  if (call.is_root()) {
    std::vector<std::byte> expected = call.of(0);
    const std::vector<std::byte> second = call.of(1);
    expected.insert(expected.end(), second.begin(), second.end());
    ASSERT_EQ(first_difference(all, expected), all.size());
  }
  send.assign(call.bytes, std::byte{0});
  all.assign(all.size(), std::byte{0});
}

void reduction(const Call& call, bool everywhere) {
  const bool mine = everywhere || call.is_root();
  std::vector<std::byte> send = call.of(call.rank), receive(call.bytes);
  if (call.in_place && mine) receive = send;
  Combiner combiner;
  combiner.element_bytes = 1;
  combiner.function = add;
  // What the kernel makes may be stored while the next is made.
  if (call.salt % 2 == 1) combiner.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::u8);
  const std::byte* const from = call.in_place && mine ? receive.data() : send.data();
  std::byte* const to = mine ? receive.data() : nullptr;
  if (everywhere) {
    ASSERT_TRUE(call.collectives.allreduce({from, to, call.bytes, &combiner}));
  } else {
    ReduceArguments arguments;
    arguments.send = from;
    arguments.receive = to;
    arguments.count = call.bytes;
    arguments.combiner = &combiner;
    arguments.root = call.root;
    ASSERT_TRUE(call.collectives.reduce(arguments));
  }
  if (mine) {
    ASSERT_EQ(first_difference(receive, sum(call.of(0), call.of(1))), receive.size());
  }
  send.assign(call.bytes, std::byte{0});
  receive.assign(call.bytes, std::byte{0});
}

void scan(const Call& call, bool exclusive) {
  const std::vector<std::byte> untouched(call.bytes, std::byte{0x5a});
  std::vector<std::byte> send = call.of(call.rank), receive = call.in_place ? send : untouched;
  Combiner combiner;
  combiner.element_bytes = 1;
  combiner.function = add;
  ScanArguments arguments;
  arguments.send = call.in_place ? receive.data() : send.data();
  arguments.receive = receive.data();
  arguments.count = call.bytes;
  arguments.combiner = &combiner;
  arguments.exclusive = exclusive;
  ASSERT_TRUE(call.collectives.scan(arguments));
  const std::vector<std::byte> first = call.in_place || !exclusive ? call.of(0) : untouched;
  const std::vector<std::byte> second = exclusive ? call.of(0) : sum(call.of(0), call.of(1));
  ASSERT_EQ(first_difference(receive, call.rank == 0 ? first : second), receive.size());
  send.assign(call.bytes, std::byte{0});
  receive.assign(call.bytes, std::byte{0});
}

class MeetOrRead : public testing::TestWithParam<Reach> {
 protected:
  /// With ranks that know nothing yet, each of them as the root of some calls.
  void call_often(const char* collective, Learned what, const std::function<void(const Call&)>& once) {
    World world;
    world.ranks = 2;
    world.reach = GetParam();
    world.algorithm = std::string(collective) + ":cooperative";
    world.cache_bytes = std::size_t{1} << 30;
    for (const bool in_place : {false, true})
      run_ranks(world, [&](int rank, Collectives& collectives) {
        int salt = 0;
        for (const std::size_t bytes : sizes)
          for (const int root : {0, 1}) {
            for (int i = 0; i < calls; ++i) {
              once({collectives, rank, root, in_place, bytes, ++salt});
              if (testing::Test::HasFatalFailure()) return;
              ASSERT_STREQ(collectives.last_algorithm(), "cooperative");
            }
            if (decides(what, rank, root) && GetParam() == Reach::direct) {
              // All that there are: what goes past the caches may go through them.
              const bool results = what == Learned::reduce || what == Learned::allreduce || what == Learned::scan ||
                                   what == Learned::exscan;
              const bool past_caches =
                  bytes >= (results ? selection::streamed_results_min : selection::streamed_to_peers_min);
              const bool third = past_caches && what != Learned::scatter;
              // Then they deliver, and choose between two ways of storing.
              const bool delivers = what == Learned::allreduce && in_place;
              Ways& ways = collectives.communicator().ways(delivers ? Learned::allreduce_in_place : what, bytes);
              // Of small messages the root reduces alone.
              const bool alone = what == Learned::reduce && bytes < std::size_t{16} * 1024;
              // Then one may store everything, or each one half.
              const bool fourth = what == Learned::bcast || what == Learned::reduce;
              const int count = alone ? 0 : !third || delivers ? 2 : fourth ? 4 : 3;
              for (int way = 0; way < Ways::most; ++way) EXPECT_EQ(ways.knows(way), way < count) << way << " " << bytes;
            }
          }
      });
  }

 private:
  static bool decides(Learned what, int rank, int root) {
    switch (what) {
      case Learned::allreduce:
        return rank == 0;
      case Learned::scan:
      case Learned::exscan:
        return rank == 1;
      case Learned::bcast:
      case Learned::reduce:
        return rank != root;
      default:
        return rank == root;
    }
  }
};

/// Three ranks that share cores, and the ways that the rank before the root wishes for.
void call_often_sharing_cores(Reach reach, const char* collective, Learned what,
                              const std::function<void(const Call&)>& once) {
  World world;
  world.ranks = 3;
  world.reach = reach;
  world.algorithm = std::string(collective) + ":cooperative";
  world.oversubscribed = true;
  run_ranks(world, [&](int rank, Collectives& collectives) {
    int salt = 0;
    for (const std::size_t bytes : sizes) {
      for (int i = 0; i < 200; ++i) {
        // Some with each root by turns, most with the same one.
        const int root = i % 4 == 0 ? i / 4 % 3 : 1;
        once({collectives, rank, root, i % 8 > 4, bytes, ++salt});
        if (testing::Test::HasFatalFailure()) return;
        ASSERT_STREQ(collectives.last_algorithm(), "cooperative");
      }
      if (rank != 0 || reach != Reach::direct) continue;
      const Ways& ways = collectives.communicator().ways(what, bytes);
      for (int way = 0; way < 3; ++way) EXPECT_TRUE(ways.knows(way)) << way << " " << bytes;
    }
  });
}

TEST_P(MeetOrRead, BcastOfManyThatShareCores) {
  call_often_sharing_cores(GetParam(), "bcast", Learned::bcast, bcast);
}

TEST_P(MeetOrRead, ScatterOfManyThatShareCores) {
  call_often_sharing_cores(GetParam(), "scatter", Learned::scatter, [](const Call& call) {
    std::vector<std::byte> all, receive(call.bytes);
    for (int rank = 0; rank < 3 && call.is_root(); ++rank) {
      const std::vector<std::byte> block = call.of(rank);
      all.insert(all.end(), block.begin(), block.end());
    }
    ScatterArguments arguments;
    if (call.is_root()) arguments.send = Blocks::regular(all.data(), call.bytes);
    arguments.receive = call.is_root() && call.in_place ? nullptr : receive.data();
    arguments.bytes = call.bytes;
    arguments.root = call.root;
    ASSERT_TRUE(call.collectives.scatter(arguments));
    if (arguments.receive) {
      ASSERT_EQ(first_difference(receive, call.of(call.rank)), receive.size());
    }
    all.assign(all.size(), std::byte{0});
    receive.assign(call.bytes, std::byte{0});
  });
}

TEST_P(MeetOrRead, Bcast) {
  call_often("bcast", Learned::bcast, bcast);
}
TEST_P(MeetOrRead, Scatter) {
  call_often("scatter", Learned::scatter, scatter);
}
TEST_P(MeetOrRead, Gather) {
  call_often("gather", Learned::gather, gather);
}
TEST_P(MeetOrRead, Reduce) {
  call_often("reduce", Learned::reduce, [](const Call& call) { reduction(call, false); });
}
TEST_P(MeetOrRead, Allreduce) {
  call_often("allreduce", Learned::allreduce, [](const Call& call) { reduction(call, true); });
}
TEST_P(MeetOrRead, Scan) {
  call_often("scan", Learned::scan, [](const Call& call) { scan(call, false); });
}
TEST_P(MeetOrRead, Exscan) {
  call_often("exscan", Learned::exscan, [](const Call& call) { scan(call, true); });
}

INSTANTIATE_TEST_SUITE_P(Reaches, MeetOrRead, testing::Values(Reach::direct, Reach::xpmem, Reach::cma, Reach::staged),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tutti::test
