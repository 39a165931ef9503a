// Threads of one process, and of several that are played by this one, as ranks: each with a node of its own, in which some
// peers share its memory and others are reached as processes are.
#include "teams/seats.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/examples.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

/// How processes reach each other's memory. `alone`: there is one.
enum class Between { alone, window, cma, staged };
constexpr const char* names[] = {"alone", "window", "cma", "staged"};

/// A process with its threads.
struct Played {
  Node node;
  int threads;
};

std::vector<std::unique_ptr<Played>> play(Between between, const std::vector<int>& threads) {
  std::vector<std::unique_ptr<Played>> all;
  for (std::size_t p = 0; p < threads.size(); ++p) {
    auto played = std::make_unique<Played>();
    std::string error;
    played->threads = threads[p];
    played->node.arena = memory::Arena::create(std::size_t{64} << 20, error);
    EXPECT_TRUE(played->node.arena) << error;
    if (between == Between::window) set_reach(played->node, Reach::window, p);
    if (between == Between::cma) set_reach(played->node, Reach::cma, p);
    played->node.cache_bytes = std::size_t{300} << 10;
    played->node.log.set_quiet(true);  // not every algorithm does every size
    all.push_back(std::move(played));
  }
  return all;
}

/// Of all of them, as process `self` knows it.
teams::Members members_of(const std::vector<std::unique_ptr<Played>>& all, std::size_t self, Between between,
                          const std::vector<std::vector<std::uint64_t>>& offsets) {
  teams::Members members;
  members.identity = 7;
  for (std::size_t p = 0; p < all.size(); ++p) {
    teams::Process& process = members.processes.emplace_back();
    process.peer.process = getpid();
    process.peer.arena = all[p]->node.arena->base();
    if (between == Between::window) process.peer.window = window_base(p);
    process.block = offsets[p][0];
    process.threads = all[p]->threads;
    process.is_this = p == self;
    for (int thread = 0; thread < all[p]->threads; ++thread)
      members.all.push_back({static_cast<int>(p), thread, offsets[p][1 + static_cast<std::size_t>(thread)]});
  }
  return members;
}

/// Runs body(rank, collectives) on all threads of all processes. leaves: this rank ends before it is ready.
void run_team(Between between, const std::vector<int>& threads, const std::string& algorithm,
              const std::function<void(int, Collectives&)>& body) {
  const auto all = play(between, threads);
  int ranks = 0;
  for (const int each : threads) ranks += each;
  std::vector<std::vector<std::uint64_t>> offsets;
  for (const auto& each : all) {
    std::vector<std::uint64_t>& taken = offsets.emplace_back();
    taken.push_back(*each->node.arena->allocate(teams::block_bytes(each->threads, ranks)));
    for (int thread = 0; thread < each->threads; ++thread)
      taken.push_back(*each->node.arena->reserve(shared_bytes(each->node.settings, ranks)));
  }
  std::vector<teams::Members> members;
  for (std::size_t p = 0; p < all.size(); ++p) members.push_back(members_of(all, p, between, offsets));
  std::string error;
  const auto machine = topology::Machine::load("package:1 numa:2 core:4 pu:1", error);
  ASSERT_TRUE(machine) << error;
  const auto known = known_algorithms();
  selection::Knowledge knowledge{selection::UserChoice::parse(algorithm, known, Log()), {}};
  knowledge.has_host = false;
  MeetingPoint end(ranks);
  side_by_side(ranks, [&](int rank) {
    const auto process = static_cast<std::size_t>(members[0].all[static_cast<std::size_t>(rank)].process);
    const teams::Members& mine = members[process];
    RankWaiter first;
    teams::take_seat(mine, rank, topology::CpuSet{rank % 8});
    ASSERT_TRUE(teams::wait_for_all(mine, rank, teams::Seat::taken, first));
    const auto node = teams::make_node(mine, rank, all[process]->node, *machine);
    node->poisons_flags = true;
    node->waiter = std::make_unique<RankWaiter>(node->requests.get());
    node->requests->waiter = node->waiter.get();
    {
      Communicator communicator(*node, teams::layout_of(mine, rank));
      Collectives collectives(communicator, knowledge);
      mine.seat(rank).standing.store(teams::Seat::ready, std::memory_order_release);
      ASSERT_TRUE(teams::wait_for_all(mine, rank, teams::Seat::ready, first));
      body(rank, collectives);
      end.arrive_and_wait();
    }
  });
}

class Seats : public testing::TestWithParam<Between> {
 protected:
  template <class Arguments>
  void sweep(const char* collective) {
    const Between between = GetParam();
    for (const std::vector<int>& threads : between == Between::alone
                                               ? std::vector<std::vector<int>>{{2}, {5}}
                                               : std::vector<std::vector<int>>{{1, 2}, {2, 2}, {3, 1, 2}})
      for (const auto* algorithm : algorithms_of<Arguments>()) {
        std::string asked = std::string(collective) + ":" + algorithm->name;
        if (std::is_same_v<Arguments, ScanArguments>) asked += std::string(";exscan:") + algorithm->name;
        int ranks = 0;
        for (const int each : threads) ranks += each;
        run_team(between, threads, asked, [&](int rank, Collectives& collectives) {
          const Arguments* const kind = nullptr;
          for (const std::size_t bytes : {std::size_t{8}, std::size_t{600}, std::size_t{70'003}})
            for (int root = 0; root < ranks; root += 2) {
              Example example{rank, ranks, root, bytes};
              const Arguments arguments = arguments_of(example, kind);
              refill(example, kind, root);
              ASSERT_TRUE(collectives.call(arguments)) << asked;
              ASSERT_TRUE(example.receive == example.expected)
                  << asked << ", rank " << rank << ", " << bytes << " bytes";
            }
        });
        if (HasFailure()) return;
      }
  }
};

#define TUTTI_TEST_SEATS(Kind, name) \
  TEST_P(Seats, Kind) {              \
    sweep<Kind##Arguments>(#name);   \
  }
TUTTI_KINDS(TUTTI_TEST_SEATS)

INSTANTIATE_TEST_SUITE_P(Between, Seats,
                         testing::Values(Between::alone, Between::window, Between::cma, Between::staged),
                         [](const auto& info) { return std::string(names[static_cast<int>(info.param)]); });

TEST(SeatsOfANode, PlacesAreThoseOfTheThreads) {
  run_team(Between::alone, {4}, "", [](int rank, Collectives& collectives) {
    const auto& places = collectives.communicator().placement().ranks;
    ASSERT_EQ(places.size(), 4u);
    EXPECT_EQ(places[static_cast<std::size_t>(rank)].core, rank);
    EXPECT_EQ(collectives.communicator().node().placement.cores_available, 4);
  });
}

/// Memory of the own process is loaded, whatever it is for others.
TEST(SeatsOfANode, ThreadsOfAProcessHaveItsMemory) {
  run_team(Between::cma, {2, 1}, "", [](int rank, Collectives& collectives) {
    const Communicator& communicator = collectives.communicator();
    int own = 0;
    const memory::Region region = communicator.node().reachable(&own, sizeof own);
    EXPECT_EQ(region.kind(), memory::Kind::cma);
    for (int other = 0; other < 3; ++other) {
      const bool is_same = (rank == 2) == (other == 2);
      EXPECT_EQ(communicator.peer(other).pointer(region, 0, sizeof own) != nullptr, is_same);
    }
  });
}

TEST(SeatsOfANode, OneThatHasFailedIsSeenByAll) {
  const auto all = play(Between::alone, {2});
  const std::vector<std::vector<std::uint64_t>> offsets{
      {*all[0]->node.arena->allocate(teams::block_bytes(2, 2)), 0, 0}};
  const teams::Members members = members_of(all, 0, Between::alone, offsets);
  EXPECT_EQ(teams::first_gone(members), -1);
  side_by_side(2, [&](int rank) {
    RankWaiter waiter;
    teams::take_seat(members, rank, {});
    members.seat(rank).standing.store(rank == 0 ? teams::Seat::failed : teams::Seat::ready, std::memory_order_release);
    EXPECT_FALSE(teams::wait_for_all(members, rank, teams::Seat::ready, waiter));
  });
  members.seat(1).standing.store(teams::Seat::gone, std::memory_order_release);
  EXPECT_EQ(teams::first_gone(members), 1);
}

}  // namespace
}  // namespace tutti::test
