#include "teams/seats.h"

#include <algorithm>
#include <utility>

#include "memory/copy_requests.h"
#include "topology/placement.h"

namespace tutti::teams {

namespace {

std::size_t seats_bytes(int threads) {
  constexpr std::size_t page_bytes = 4096;
  return (static_cast<std::size_t>(threads) * sizeof(Seat) + page_bytes - 1) / page_bytes * page_bytes;
}

/// Where a rank's memory for requests lies: behind the seats of its process.
std::byte* request_area(const Members& members, int rank) {
  const Member& member = members.all[static_cast<std::size_t>(rank)];
  const Process& process = members.process_of(rank);
  const std::size_t bytes = memory::CopyRequests::area_bytes(members.size());
  const std::size_t before = seats_bytes(process.threads) + static_cast<std::size_t>(member.thread) * bytes;
  return process.peer.in_arena(process.block + before, bytes);
}

}  // namespace

Seat& Members::seat(int rank) const {
  const Process& process = process_of(rank);
  const auto thread = static_cast<std::size_t>(all[static_cast<std::size_t>(rank)].thread);
  return *reinterpret_cast<Seat*>(process.peer.in_arena(process.block + thread * sizeof(Seat), sizeof(Seat)));
}

std::size_t block_bytes(int threads, int ranks) {
  return seats_bytes(threads) + static_cast<std::size_t>(threads) * memory::CopyRequests::area_bytes(ranks);
}

void take_seat(const Members& members, int rank, const topology::CpuSet& affinity) {
  Seat& seat = members.seat(rank);
  const std::vector<std::uint64_t>& words = affinity.words();
  std::copy_n(words.begin(), std::min(words.size(), Seat::affinity_words), seat.affinity);
  seat.standing.store(Seat::taken, std::memory_order_release);
}

bool wait_for_all(const Members& members, int rank, Seat::Standing least, sync::Waiter& waiter) {
  for (int other = 0; other < members.size(); ++other) {
    const auto standing = [&seat = members.seat(other)] { return seat.standing.load(std::memory_order_acquire); };
    sync::WaitReason reason{"the start of a team"};
    reason.peer = other == rank ? -1 : other;
    sync::wait(waiter, reason, [&] { return standing() >= least; });
    if (standing() >= Seat::failed) return false;
  }
  return true;
}

int first_gone(const Members& members) {
  for (int rank = 0; rank < members.size(); ++rank)
    if (members.seat(rank).standing.load(std::memory_order_acquire) == Seat::gone) return rank;
  return -1;
}

std::unique_ptr<Node> make_node(const Members& members, int rank, const Node& process,
                                const topology::Machine& machine) {
  auto node = std::make_unique<Node>();
  node->rank = rank;
  node->size = members.size();
  node->settings = process.settings;
  node->log = process.log;
  node->arena = process.arena;
  node->warnings = process.warnings;
  node->cache_bytes = process.cache_bytes;
  node->may_stage = process.may_stage;
  if (members.in_one_process()) {
    node->ranks_are_threads = node->window_shared = true;
  } else {
    node->window_base = process.window_base;
    node->window_extent = process.window_extent;
    node->window_spans = process.window_spans;
    node->window_shared = process.window_shared;
    node->foreign = process.foreign;
    node->huge_pages = process.huge_pages;
    node->cma = process.cma;
    node->exposures = process.exposures;
    node->operations = process.operations;
  }
  std::vector<std::byte*> areas;
  for (int other = 0; other < members.size(); ++other) areas.push_back(request_area(members, other));
  node->requests = std::make_unique<memory::CopyRequests>(rank, std::move(areas), process.arena->capacity());
  std::vector<topology::CpuSet> affinities;
  for (int other = 0; other < members.size(); ++other) {
    const Process& of = members.process_of(other);
    memory::Peer& peer = node->peers.emplace_back(of.peer);
    peer.rank = other;
    peer.requests = node->requests.get();
    peer.same_memory = of.is_this;
    const Seat& seat = members.seat(other);
    affinities.push_back(topology::CpuSet::from_words({seat.affinity, seat.affinity + Seat::affinity_words}));
  }
  node->placement = topology::place(machine, affinities);
  // Of what crowds processes, quotas of their time are not seen here.
  node->oversubscribed = node->placement.oversubscribed() || process.oversubscribed;
  return node;
}

std::vector<sync::Doorbell*> doorbells_of(const Members& members) {
  std::vector<sync::Doorbell*> doorbells;
  for (int rank = 0; rank < members.size(); ++rank) doorbells.push_back(&members.seat(rank).doorbell);
  return doorbells;
}

CommunicatorLayout layout_of(const Members& members, int rank) {
  CommunicatorLayout layout;
  layout.rank = rank;
  layout.identity = members.identity;
  for (int other = 0; other < members.size(); ++other) {
    layout.node_ranks.push_back(other);
    layout.offsets.push_back(members.all[static_cast<std::size_t>(other)].shared);
  }
  return layout;
}

}  // namespace tutti::teams
