// Ranks as threads of one process: every algorithm runs without MPI, so that the sanitizers see all of it. In a build for
// simulators they are fibres (side_by_side.h).
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/past.h"
#include "collectives/side_by_side.h"
#include "memory/xpmem_stand_in.h"
#include "system.h"
#include "topology/machine.h"
#include "topology/mapping.h"

namespace tutti::test {

/// What a pending call may never do.
class NoWaiter : public sync::Waiter {
 public:
  NoWaiter() { spin = 0; }
  void idle(sync::WaitState& state) override {
    throw std::logic_error(std::string("a pending call waits in ") + state.reason.collective);
  }
  void wake(const int*, int) override {}
};
/// As long as it is there, this rank waits in nothing that it calls; it has to serve its peers itself.
class NeverWaiting {
 public:
  explicit NeverWaiting(Node& node) : node_(node), before_(std::make_unique<NoWaiter>()) { swap(); }
  NeverWaiting(const NeverWaiting&) = delete;
  NeverWaiting& operator=(const NeverWaiting&) = delete;
  ~NeverWaiting() { swap(); }

 private:
  void swap() {
    node_.waiter.swap(before_);
    if (node_.requests) node_.requests->waiter = node_.waiter.get();
  }
  Node& node_;
  std::unique_ptr<sync::Waiter> before_;
};
/// How ranks reach each other's buffers in a test. window: all memory of a rank is its window, but that of every third
/// rank is out of it and has to be staged, as happens to programs. refused: as cma, but the kernel refuses whatever it is
/// asked, so that each copy is made by the owner. noted: as cma, but of every second rank it is known that the kernel
/// does not reach it. lent: as window, and of what they could map ranks lend copies through the caches. beyond: as direct, with
/// copies past the caches.
enum class Reach { direct, xpmem, cma, staged, window, refused, noted, lent, beyond };

inline bool has_window(Reach reach) {
  return reach == Reach::window || reach == Reach::lent;
}

inline const char* name_of(Reach reach) {
  constexpr const char* names[] = {"direct", "xpmem", "cma", "staged", "window", "refused", "noted", "lent", "beyond"};
  return names[static_cast<int>(reach)];
}

/// TUTTI_TEST_SWEEP: "full" sweeps everything, "short" what is affordable where each run costs much.
inline bool full_sweep() {
  const char* sweep = std::getenv("TUTTI_TEST_SWEEP");
  return sweep && std::string(sweep) == "full";
}
inline bool short_sweep() {
  const char* sweep = std::getenv("TUTTI_TEST_SWEEP");
  return sweep && std::string(sweep) == "short";
}

/// For INSTANTIATE_TEST_SUITE_P. Windows mix what is mapped and what is staged: where each run costs much, those two do.
inline auto all_reaches() {
  std::vector<Reach> reaches{Reach::direct, Reach::xpmem, Reach::cma, Reach::staged, Reach::lent};
  if (!short_sweep()) reaches.insert(reaches.end(), {Reach::window, Reach::refused, Reach::noted, Reach::beyond});
  return testing::ValuesIn(reaches);
}

struct World {
  int ranks = 2;
  Reach reach = Reach::direct;
  Settings settings;
  std::string machine = "package:2 numa:2 l3:2 core:4 pu:1";
  std::size_t cache_bytes = std::size_t{300} << 10;  ///< small, so that tests copy past the caches too
  std::string algorithm;                             ///< TUTTI_ALGORITHM
  bool oversubscribed = false;
  bool and_cma = false;    ///< what is out of the window is reached by the kernel
  bool may_stage = false;  ///< ranks try to lend copies of what the kernel reaches
  bool dealt_out = false;  ///< neighbouring ranks sit on different NUMA nodes, as a launcher may deal them out
  std::optional<std::uint32_t> shuffled = std::nullopt;  ///< ranks are numbered in any order: the seed of that
  std::uint64_t after = 0;                               ///< operations that have been, see Channel::begin_after()
  std::vector<std::vector<memory::Traffic>>* traffic = nullptr;  ///< by who copies and with whom; null: nobody counts
  unsigned life = 0;                                             ///< another past for each
  bool is_new = false;  ///< no past: for tests of what a communicator learns or counts

  /// Another one for each world of a sweep.
  Past past() const {
    std::size_t seed = std::hash<std::string>()(algorithm + settings.hierarchy + name_of(reach));
    seed = seed * 31 + static_cast<std::size_t>(2 * ranks) + (oversubscribed ? 1 : 0);
    if (life > 0) seed = seed * 31 + life;
    Past found = is_new || traffic ? Past::none() : Past::of(static_cast<unsigned>(seed ^ seed >> 32), ranks);
    found.begins_after = after;
    return found;
  }
};

/// Room for everything that is staged; making it and taking it back is most of what a short run costs.
inline constexpr std::size_t arena_bytes = std::size_t{32} << 20;

/// So that there are evictions all the time.
inline constexpr std::size_t few_attachments = 2;

/// Where the ranks sit.
inline topology::Placement placement_of(const World& world) {
  std::string error;
  const auto machine = topology::Machine::load(world.machine, error);
  EXPECT_TRUE(machine) << error;
  if (world.shuffled)
    return topology::place_by_affinity(
        *machine, topology::map_ranks(*machine, world.ranks, topology::Mapping::shuffled(*world.shuffled)));
  if (world.dealt_out)
    return topology::place_by_affinity(*machine, topology::map_ranks(*machine, world.ranks, topology::Mapping::numa));
  return topology::place(*machine, std::vector<topology::CpuSet>(static_cast<std::size_t>(world.ranks)));
}

/// Where a rank's window begins, for itself and, as threads have one memory, for its peers. Far below all memory, and
/// another place for each rank, so that what is looked for in a wrong one is not found.
inline std::byte* window_base(std::size_t rank) {
  return reinterpret_cast<std::byte*>((rank + 1) * std::size_t{4096});
}

/// What a rank's node says of how its memory is reached.
inline void set_reach(Node& node, Reach reach, std::size_t rank) {
  // A window serves ranks that are processes, too.
  node.ranks_are_threads = !has_window(reach);
  node.window_shared = reach == Reach::direct || reach == Reach::beyond || has_window(reach);
  node.may_stage = has_window(reach) || reach == Reach::beyond;
  if (reach == Reach::lent) node.settings.move = "caches";
  if (reach == Reach::beyond) node.settings.move = "memory";
  node.window_base = window_base(rank);
  static constinit const std::atomic<std::size_t> everywhere{SIZE_MAX};
  node.window_extent = rank % 3 == 2 ? nullptr : &everywhere;
  node.cma = reach == Reach::cma || reach == Reach::refused || reach == Reach::noted;
}

/// With Reach::xpmem, the table of what a rank exposes.
inline memory::ExposureTable* add_exposures(Node& node) {
  auto* const table = reinterpret_cast<memory::ExposureTable*>(node.arena->base() +
                                                               *node.arena->allocate(sizeof(memory::ExposureTable)));
  node.exposures = std::make_unique<memory::Exposures>(*table);
  node.operations = std::make_unique<memory::OperationClock>();
  return table;
}

/// With Reach::xpmem, what a rank needs to attach to the others.
inline void attach_peers(const World& world, Node& node, const std::vector<memory::ExposureTable*>& tables) {
  if (world.reach != Reach::xpmem) return;
  const memory::Xpmem xpmem = XpmemStandIn::calls();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    auto& attachments = node.attachments.emplace_back();
    if (static_cast<int>(i) == node.rank) continue;
    attachments = std::make_unique<memory::Attachments>(xpmem, memory::get_segment(xpmem, 0), *tables[i],
                                                        *node.operations, few_attachments);
    node.peers[i].attachments = attachments.get();
  }
}

/// By which ranks ask each other for memory, and how much of it they have to; at the beginning of their arenas. Where no
/// kernel copies, as under an emulator, all that it would is asked for.
inline void set_up_requests(const World& world, Node& node, const std::vector<std::byte*>& areas) {
  static const bool copies = kernel_copies();
  if (world.reach != Reach::refused && world.reach != Reach::noted && (copies || !node.cma)) return;
  node.requests = std::make_unique<memory::CopyRequests>(node.rank, areas, arena_bytes);
  node.requests->kernel_refuses = world.reach == Reach::refused || !copies;
  if (world.reach == Reach::noted && node.rank % 2 == 1) node.requests->note(0, UINTPTR_MAX);
  node.waiter = std::make_unique<RankWaiter>(node.requests.get());
  node.requests->waiter = node.waiter.get();
  for (std::size_t i = 0; i < node.peers.size(); ++i) {
    node.peers[i].rank = static_cast<int>(i);
    node.peers[i].requests = node.requests.get();
  }
}

/// Runs `body(rank, collectives)` on every rank of `world`, each with a node of its own.
inline void run_ranks(const World& world, const std::function<void(int, LivedIn&)>& body) {
  const auto count = static_cast<std::size_t>(world.ranks);
  std::string error;
  const topology::Placement placement = placement_of(world);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<memory::Peer> peers(count);
  std::vector<memory::ExposureTable*> tables(count);
  std::vector<std::byte*> areas;
  const XpmemBalance before = XpmemStandIn::balance();
  for (std::size_t i = 0; i < count; ++i) {
    auto node = std::make_unique<Node>();
    node->rank = static_cast<int>(i);
    node->size = world.ranks;
    node->settings = world.settings;
    node->log.set_quiet(simulated::on);  // many lives would say the same
    node->arena = memory::Arena::create(arena_bytes, error);
    ASSERT_TRUE(node->arena) << error;
    set_reach(*node, world.reach, i);
    node->cma = node->cma || world.and_cma;
    node->cache_bytes = world.cache_bytes;
    node->oversubscribed = world.oversubscribed;
    node->may_stage = node->may_stage || world.may_stage;
    node->poisons_flags = true;
    node->placement = placement;
    node->waiter = std::make_unique<RankWaiter>();
    peers[i] = {getpid(), node->arena->base(), has_window(world.reach) ? window_base(i) : nullptr};
    areas.push_back(node->arena->base() + *node->arena->allocate(memory::CopyRequests::area_bytes(world.ranks)));
    if (world.reach == Reach::xpmem) tables[i] = add_exposures(*node);
    node->rows = std::make_unique<memory::Rows>(*node->arena, count);
    nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < count; ++i) {
    nodes[i]->peers = peers;
    for (std::size_t j = 0; world.traffic && j < count; ++j) nodes[i]->peers[j].traffic = &(*world.traffic)[i][j];
    attach_peers(world, *nodes[i], tables);
    set_up_requests(world, *nodes[i], areas);
  }
  const auto known = known_algorithms();
  const selection::Knowledge knowledge{selection::UserChoice::parse(world.algorithm, known, Log()), {}};
  const Past past = world.past();
  const bool had_failed = testing::Test::HasFailure();
  SharedParts parts(nodes);
  side_by_side(world.ranks, [&](int rank) {
    after(past, *nodes[static_cast<std::size_t>(rank)], parts, knowledge,
          [&](LivedIn& collectives) { body(rank, collectives); });
  });
  EXPECT_EQ(testing::Test::HasFailure(), had_failed) << world.ranks << " ranks with the " << past.text();
  for (auto& node : nodes) node->attachments.clear();
  EXPECT_EQ(XpmemStandIn::balance(), before);
}

/// Runs of many ranks cost most. Unless all is swept they are for two reaches, of which the second is the others in one, since
/// it maps some buffers and stages others: one where the number of ranks is even, and each has a core, the other where it is
/// odd, and they share cores. Where each run costs much, many are fewer, and for one reach and one hierarchy.
inline bool is_swept(const World& world) {
  if (world.ranks < (short_sweep() ? 10 : 16) || full_sweep()) return true;
  if (short_sweep()) return world.reach == Reach::direct && world.settings.hierarchy != "flat";
  return world.reach == (world.ranks % 2 == 0 ? Reach::direct : Reach::window);
}

/// run_ranks() of a sweep, over ranks that have their own cores or share them: two, for which many algorithms are, both
/// ways; others one way, which changes with their number and with the reach.
inline void sweep_ranks(World world, const std::function<void(int, LivedIn&)>& body) {
  if (!is_swept(world)) return;
  const bool shared_here = (world.ranks + static_cast<int>(world.reach)) % 2 == 1;
  for (const bool shared : {false, true}) {
    world.oversubscribed = shared;
    if (world.ranks == 2 || shared == shared_here) run_ranks(world, body);
  }
}

/// The rank counts of a sweep. A communicator of one rank never comes so far: src/mpi/state_building.cpp leaves it to the
/// host.
inline std::vector<int> rank_counts() {
  if (full_sweep()) return {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  if (short_sweep()) return {2, 5, 10};
  return {2, 3, 5, 16, 17};
}

}  // namespace tutti::test
