// The driver in time, by cases that can be reckoned by hand, and what a call takes by the core's own code.
#include "simulation/timed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/calls.h"
#include "simulation/ranks.h"
#include "sync/flag.h"
#include "topology/machine.h"
#include "topology/mapping.h"

namespace tutti::simulated {
namespace {

constexpr double ns = 1e-9;
constexpr std::size_t page = 4096;

/// Two sockets of two NUMA nodes with four cores each, which share an L3.
constexpr char machine_words[] = "package:2 numa:2 l3:1 core:4 pu:1";

/// A core takes no time for itself.
Parameters idle_cores() {
  Parameters parameters;
  parameters.call = parameters.clock = parameters.frame = parameters.step = parameters.copy_start = 0;
  return parameters;
}

topology::Placement placement(int ranks, const char* words = machine_words) {
  std::string error;
  const auto machine = topology::Machine::load(words, error);
  return topology::place_by_affinity(*machine, topology::map_ranks(*machine, ranks, topology::Mapping::core));
}

/// Memory on pages of its own.
class Pages {
 public:
  explicit Pages(std::size_t count) : bytes_(count * page), raw_(bytes_ + page) {}
  std::byte* at() {
    const auto address = reinterpret_cast<std::uintptr_t>(raw_.data());
    return raw_.data() + (page - address % page) % page;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<std::byte> raw_;
};

struct alignas(128) LineOfFlag {
  sync::Flag flag;
};

void wait_for(FiberWaiter& waiter, const sync::Flag& flag, std::uint64_t value) {
  sync::wait(waiter, {"a test", nullptr, value, 0}, [&] { return flag.get() >= value; });
}

/// Seconds of half a round trip of two flags, between rank 0 and another one.
double half_round_trip(int with) {
  selection::Model model;
  model.hop = 100 * ns;
  Timed timed(model, idle_cores(), placement(16));
  std::vector<LineOfFlag> flags(2);
  constexpr int trips = 50;
  double took = 0;
  timed.run([&](int rank) {
    FiberWaiter waiter;
    if (rank != 0 && rank != with) return;
    const std::size_t own = rank == 0 ? 0 : 1;
    double start = 0;
    for (std::uint64_t trip = 1; trip <= trips; ++trip) {
      // The first one finds the lines with nobody.
      if (trip == 2) start = timed.seconds();
      if (own == 1) wait_for(waiter, flags[0].flag, trip);
      flags[own].flag.set(trip);
      if (own == 0) wait_for(waiter, flags[1].flag, trip);
    }
    if (own == 0) took = (timed.seconds() - start) / (trips - 1) / 2;
  });
  return took;
}

TEST(Timed, AFlagTakesAHop) {
  const selection::Model model;
  EXPECT_NEAR(half_round_trip(1), 100 * ns, 0.1 * ns);
  EXPECT_NEAR(half_round_trip(4), 100 * ns * model.hop_socket, 0.1 * ns);
  EXPECT_NEAR(half_round_trip(8), 100 * ns * model.hop_machine, 0.1 * ns);
}

/// Readers who wait for the same line get it one after the other.
TEST(Timed, ReadersOfOneLineQueue) {
  selection::Model model;
  model.hop = 100 * ns;
  const Parameters parameters = idle_cores();
  constexpr int ranks = 16;
  Timed timed(model, parameters, placement(ranks, "package:1 l3:1 core:16 pu:1"));
  LineOfFlag line;
  double last = 0;
  timed.run([&](int rank) {
    FiberWaiter waiter;
    if (rank == 0) line.flag.set(1);
    wait_for(waiter, line.flag, 1);
    timed.meet();
    const double start = timed.seconds();
    if (rank == 0) {
      timed.spend(1e-6);
      line.flag.set(2);
      return;
    }
    wait_for(waiter, line.flag, 2);
    last = std::max(last, timed.seconds() - start - 1e-6);
  });
  EXPECT_NEAR(last, 100 * ns * (1 + (ranks - 2) * parameters.next_reader), 0.1 * ns);
}

/// Lines that are asked for one after the other come while others do, wherever they are.
TEST(Timed, LinesNearAndFarOverlap) {
  const auto look = [](const std::vector<int>& at) {
    Timed timed(selection::Model(), idle_cores(), placement(16));
    std::vector<LineOfFlag> flags(16);
    double took = 0;
    timed.run([&](int rank) {
      if (rank > 0) flags[static_cast<std::size_t>(rank)].flag.set(1);
      timed.meet();
      if (rank > 0) return;
      for (const int each : at) static_cast<void>(flags[static_cast<std::size_t>(each)].flag.get());
      took = timed.seconds();
    });
    return took;
  };
  const double in_order = look({1, 2, 3, 8, 9, 10}), mixed = look({1, 8, 2, 9, 3, 10});
  EXPECT_NEAR(mixed, in_order, 0.2 * in_order);
}

/// Seconds of a copy of what another rank has just written.
double copy_from(int owner, std::size_t bytes, const selection::Model& model) {
  Timed timed(model, idle_cores(), placement(16));
  Pages from(bytes / page), to(bytes / page);
  double took = 0;
  timed.run([&](int rank) {
    if (rank == owner) {
      timed.owns(from.at(), bytes);
      timed.fills(from.at(), bytes);
    }
    if (rank == 0) {
      timed.owns(to.at(), bytes);
      timed.fills(to.at(), bytes);
    }
    timed.meet();
    const double start = timed.seconds();
    if (rank == 0) {
      timed.copy(to.at(), from.at(), bytes, Move::cached);
      took = timed.seconds() - start;
    }
  });
  return took;
}

TEST(Timed, ACopyHasAPriceForEachByteByDistance) {
  selection::Model model;
  const std::size_t bytes = std::size_t{64} << 10;
  const double first_line = 1 - Parameters().of_store;
  const auto expected = [&](double hop, double byte) {
    return first_line * model.hop * hop + static_cast<double>(bytes) * model.remote_byte * byte;
  };
  EXPECT_NEAR(copy_from(1, bytes, model), expected(1, 1), 0.01 * expected(1, 1));
  const double across = expected(model.hop_machine, model.byte_machine);
  EXPECT_NEAR(copy_from(8, bytes, model), across, 0.01 * across);
}

/// What has left the caches comes from memory.
TEST(Timed, CachesHaveACapacity) {
  selection::Model model;
  model.shared_cache = 4 << 20;  // four of them
  const std::size_t fits = std::size_t{512} << 10, spills = std::size_t{3} << 20;
  const double hot = copy_from(1, fits, model) / static_cast<double>(fits);
  const double cold = copy_from(1, spills, model) / static_cast<double>(spills);
  EXPECT_NEAR(hot, model.remote_byte, 0.01 * model.remote_byte);
  EXPECT_GT(cold, 0.9 * model.memory_byte);
}

/// Eight read from one NUMA node's memory, which gives no more than it can.
TEST(Timed, AMemoryIsShared) {
  selection::Model model;
  model.node_byte = 1 / 10e9;
  const std::size_t bytes = std::size_t{256} << 10;
  const auto read_by = [&](int readers) {
    Timed timed(model, idle_cores(), placement(16));
    Pages memory(16 * bytes / page), copies(16 * bytes / page);
    double longest = 0;
    timed.run([&](int rank) {
      if (rank == 0) timed.owns(memory.at(), memory.bytes());
      timed.owns(copies.at() + static_cast<std::size_t>(rank) * bytes, bytes);
      timed.fills(copies.at() + static_cast<std::size_t>(rank) * bytes, bytes);
      timed.meet();
      const double start = timed.seconds();
      if (rank >= readers) return;
      const std::size_t part = static_cast<std::size_t>(rank) * bytes;
      timed.copy(copies.at() + part, memory.at() + part, bytes, Move::cached);
      longest = std::max(longest, timed.seconds() - start);
    });
    return longest;
  };
  const double n = static_cast<double>(bytes);
  EXPECT_NEAR(read_by(1), n * model.memory_byte, 0.02 * n * model.memory_byte);
  EXPECT_NEAR(read_by(8), 8 * n * model.node_byte, 0.02 * 8 * n * model.node_byte);
}

/// The shortest and the longest of copies that `readers` make at once; of `bytes` that `owner` has written, or each of its own.
std::pair<double, double> copies_at_once(const char* words, int ranks, const std::vector<int>& readers, int owner,
                                         std::size_t bytes) {
  Timed timed(selection::Model(), idle_cores(), placement(ranks, words));
  Pages from(bytes / page * static_cast<std::size_t>(ranks)), to(bytes / page * static_cast<std::size_t>(ranks));
  std::pair<double, double> all{1, 0};
  timed.run([&](int rank) {
    const std::size_t part = static_cast<std::size_t>(rank) * bytes;
    timed.owns(from.at() + part, bytes);
    timed.fills(from.at() + part, bytes);
    timed.fills(to.at() + part, bytes);
    timed.meet();
    if (std::find(readers.begin(), readers.end(), rank) == readers.end()) return;
    const double start = timed.seconds();
    timed.copy(to.at() + part, from.at() + (owner >= 0 ? static_cast<std::size_t>(owner) * bytes : part), bytes,
               Move::cached);
    const double took = timed.seconds() - start;
    all = {std::min(all.first, took), std::max(all.second, took)};
  });
  return all;
}

/// What one of two readers of a cache fetches is not with the other before.
TEST(Timed, AReaderWaitsForWhatItsNeighborFetches) {
  const std::size_t bytes = std::size_t{64} << 10;
  const double alone = copies_at_once(machine_words, 16, {0}, 8, bytes).first;
  EXPECT_GT(copies_at_once(machine_words, 16, {0, 1}, 8, bytes).first, 0.95 * alone);
}

TEST(Timed, HardwareThreadsShareACore) {
  const char* const words = "package:1 l3:1 core:2 pu:2";
  const std::size_t bytes = std::size_t{64} << 10;
  const double alone = copies_at_once(words, 2, {0, 1}, -1, bytes).second,
               both = copies_at_once(words, 4, {0, 1, 2, 3}, -1, bytes).second;
  EXPECT_NEAR(both, 2 * Parameters().thread * alone, 0.05 * alone);
}

/// Who locks pages while others do waits longer (CMA-aware paper, section II.B).
TEST(Timed, TheKernelsCopiesContendForPages) {
  selection::Model model;
  constexpr int readers = 7;
  const auto slowest = [&](int count) {
    Timed timed(model, idle_cores(), placement(8, "package:1 l3:1 core:8 pu:1"));
    Pages memory(4), copies(8 * 4);
    double longest = 0;
    timed.run([&](int rank) {
      if (rank == 0) {
        timed.owns(memory.at(), memory.bytes());
        timed.fills(memory.at(), memory.bytes());
      }
      timed.meet();
      if (rank == 0 || rank > count) return;
      const double start = timed.seconds();
      timed.copy_by_kernel(true, copies.at() + static_cast<std::size_t>(rank) * 4 * page, memory.at(), 4 * page);
      longest = std::max(longest, timed.seconds() - start);
    });
    return longest;
  };
  const double more = 4 * model.kernel_page * (model.gamma(readers) - 1);
  EXPECT_NEAR(slowest(readers) - slowest(1), more, 0.1 * more);
}

Machine two_sockets() {
  Machine machine;
  machine.description = machine_words;
  return machine;
}

Times call(const Machine& machine, const Job& job, const Question& question) {
  Ranks ranks(machine, job);
  return measure(ranks, question);
}

TEST(Timed, TheSameCallTakesTheSameTime) {
  Job job;
  job.ranks = 16;
  for (const char* algorithm : {"xhc", "share", "exchange"}) {
    Question question{.collective = "allreduce", .bytes = 64 << 10, .algorithm = algorithm};
    const Times first = call(two_sockets(), job, question), again = call(two_sockets(), job, question);
    EXPECT_EQ(first.algorithm, algorithm);
    EXPECT_GT(first.cost, 1e-6);
    EXPECT_EQ(first.cost, again.cost);
    EXPECT_EQ(first.inside, again.inside);
  }
}

TEST(Timed, EveryCollectiveTakesLongerWithMoreBytes) {
  Job job;
  job.ranks = 8;
  const Machine machine = two_sockets();
  Ranks ranks(machine, job);
  for (const char* collective : {"bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall",
                                 "reduce_scatter", "scan", "neighbor"}) {
    double before = 0;
    for (const std::size_t bytes : {4, 4096, 256 << 10}) {
      const Times times = measure(ranks, {.collective = collective, .bytes = bytes});
      EXPECT_GT(times.inside, before) << collective << " of " << bytes << " by " << times.algorithm;
      before = times.inside;
    }
  }
}

/// One level combines a chunk while the next one combines the chunk before.
TEST(Timed, LevelsOfAHierarchyWorkAtTheSameTime) {
  Machine machine = two_sockets();
  machine.description = "package:2 numa:4 l3:2 core:4 pu:1";
  Job job;
  job.ranks = 64;
  for (const char* collective : {"reduce", "allreduce", "bcast"}) {
    const Question question{.collective = collective, .bytes = 1 << 20, .algorithm = "xhc"};
    job.settings.chunk = "1M";
    const double one_by_one = call(machine, job, question).inside;
    job.settings.chunk = "auto";
    EXPECT_LT(call(machine, job, question).inside, 0.7 * one_by_one) << collective;
  }
}

TEST(Timed, ChunksMayDifferFromLevelToLevel) {
  Machine machine = two_sockets();
  machine.description = "package:2 numa:4 l3:2 core:4 pu:1";
  Job job;
  job.ranks = 64;
  for (const char* chunks : {"16K,64K,16K", "64K,16K", "16K,48K,64K"}) {
    job.settings.chunk = chunks;
    for (const char* collective : {"reduce", "allreduce", "bcast"})
      EXPECT_GT(call(machine, job, {.collective = collective, .bytes = 1 << 20, .algorithm = "xhc"}).inside, 0)
          << collective << " in chunks of " << chunks;
  }
}

/// A byte takes at least what a node's link takes for it.
TEST(Timed, MessagesBetweenNodesHaveALink) {
  Job job;
  job.ranks = 4;
  job.nodes = 4;
  const Machine machine = two_sockets();
  Ranks ranks(machine, job);
  const std::size_t bytes = std::size_t{1} << 20;
  for (const char* algorithm : {"multi-object-exchange", "multi-object-reduce-scatter-ring"}) {
    const Times times = measure(ranks, {.collective = "allreduce", .bytes = bytes, .algorithm = algorithm});
    EXPECT_EQ(times.algorithm, algorithm);
    EXPECT_GT(times.inside, 1.4 * static_cast<double>(bytes) * machine.network.between_byte);
    const Times few = measure(ranks, {.collective = "allreduce", .bytes = 64, .algorithm = algorithm});
    EXPECT_GT(few.inside, 2 * machine.network.between_start);
    EXPECT_LT(few.inside, 30 * machine.network.between_start);
  }
}

/// Its own block into what the node shares, and all of them out of it in two pieces.
TEST(Timed, BlocksThatFollowEachOtherAreOneCopy) {
  Job job;
  job.ranks = job.nodes = 4;
  const Machine machine = two_sockets();
  Ranks ranks(machine, job);
  std::vector<Span> spans;
  measure(ranks, {.collective = "allgather", .bytes = 64, .algorithm = "multi-object-bruck"}, &spans);
  const auto copies =
      std::count_if(spans.begin(), spans.end(), [](const Span& span) { return span.kind == Span::Kind::copy; });
  EXPECT_GE(copies, 2 * 16);
  EXPECT_LE(copies, 3 * 16);
}

/// A link serves who is there first, not who was posted first.
TEST(Timed, AllNodesSendToAllAtOnce) {
  Job job;
  job.ranks = 1;
  job.nodes = 8;
  const Machine machine = two_sockets();
  const std::size_t bytes = std::size_t{1} << 20;
  const Times times = call(machine, job, {.collective = "alltoall", .bytes = bytes, .algorithm = "pairs"});
  const double link = 7 * static_cast<double>(bytes) * machine.network.between_byte;
  EXPECT_GT(times.inside, link);
  EXPECT_LT(times.inside, 1.3 * link);
}

/// Messages come while a rank looks for others, or while it copies.
TEST(Timed, AMessageWakesWhoWaitsForIt) {
  const Machine machine = two_sockets();
  for (const int ranks : {2, 4}) {
    Job job;
    job.ranks = ranks;
    job.nodes = 2;
    const Times times = call(machine, job, {.collective = "alltoall", .bytes = 64, .algorithm = "pairs"});
    EXPECT_GT(times.inside, machine.network.between_start);
    EXPECT_LT(times.inside, 10 * machine.network.between_start) << ranks << " ranks of a node";
  }
}

/// The loop without calls is no dearer than what the program does around them, also where others leave lines for less than
/// a core's own stores cost, and memory gives as little as a cache.
TEST(Timed, ACallCostsTheProgramSomething) {
  Machine machine = two_sockets();
  machine.model.copy_byte = machine.model.spilled_byte = 3e-10;
  machine.model.left_byte = machine.model.found_byte = 0;
  Job job;
  job.ranks = 16;
  for (const Reach reach : {Reach::mapped, Reach::kernel}) {
    job.reach = reach;
    for (const char* collective : {"scatter", "gather"}) {
      const Times times =
          call(machine, job, {.collective = collective, .bytes = 128 << 10, .algorithm = "throttled,k=4"});
      EXPECT_GT(times.cost, times.inside / 10) << collective;
    }
  }
}

/// What is noted of a call is what it took.
TEST(Timed, SpansFillTheCall) {
  Job job;
  job.ranks = 4;
  const Machine machine = two_sockets();
  Ranks ranks(machine, job);
  std::vector<Span> spans;
  measure(ranks, {.collective = "bcast", .bytes = 64 << 10, .algorithm = "smhc-flat"}, &spans);
  int calls = 0, copies = 0, waits = 0;
  for (const Span& span : spans) {
    EXPECT_LE(span.begin, span.end);
    calls += span.kind == Span::Kind::call;
    copies += span.kind == Span::Kind::copy;
    waits += span.kind == Span::Kind::wait && span.peer >= 0;
  }
  EXPECT_EQ(calls, 4);
  EXPECT_GE(copies, 4);
  EXPECT_GE(waits, 3);
}

TEST(Timed, AFileWithoutATopologyIsRefused) {
  EXPECT_THROW(Machine::read("{}"), std::runtime_error);
}

}  // namespace
}  // namespace tutti::simulated
