#include "mpi/start/shared_caches.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/processor.h"
#include "mpi/start/arena_header.h"
#include "mpi/start/peer_memory.h"
#include "topology/turns.h"

namespace tutti::mpi {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// A flag to another core and back. Through a common L3 it takes 90 to 150 ns, and otherwise 300 and more.
constexpr nanoseconds apart{250};
/// Who does not come by then is not waited for.
constexpr std::chrono::milliseconds patience{2};
constexpr std::uint32_t batches = 5, of_a_batch = 20;

std::atomic<std::uint32_t>& flag_of(const Node& node, int rank) {
  return reinterpret_cast<ArenaHeader*>(node.peers[static_cast<std::size_t>(rank)].arena)->round_trip;
}

bool await(const std::atomic<std::uint32_t>& flag, std::uint32_t value) {
  const Clock::time_point begin = Clock::now();
  for (unsigned looks = 1; flag.load(std::memory_order_acquire) != value; ++looks) {
    if (looks % 256 == 0 && Clock::now() - begin > patience) return false;
    processor::relax();
  }
  return true;
}

/// Between this rank and `other`, with numbers from `first` on, as many as there are in all batches: what it takes in the
/// best batch; 0 if the other one does not come.
nanoseconds round_trip(const Node& node, int other, std::uint32_t first) {
  std::atomic<std::uint32_t>&own = flag_of(node, node.rank), &others = flag_of(node, other);
  nanoseconds least = nanoseconds::max();
  std::uint32_t number = first;
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    const Clock::time_point begin = Clock::now();
    for (std::uint32_t i = 0; i < of_a_batch; ++i, ++number) {
      if (node.rank < other) own.store(number, std::memory_order_release);
      if (!await(others, number)) return nanoseconds::zero();
      if (node.rank > other) own.store(number, std::memory_order_release);
    }
    least = std::min(least, nanoseconds((Clock::now() - begin) / of_a_batch));
  }
  return least;
}

/// Of the ranks whose cores are in one L3 each measures to the next one and to the one before.
bool some_are_apart(const Node& node) {
  if (node.oversubscribed) return false;
  nanoseconds longest{0};
  for (const int turn : {0, 1}) {
    const int other = topology::met_in_turn(node.placement, topology::LevelKind::l3, node.rank, turn);
    if (other >= 0) longest = std::max(longest, round_trip(node, other, 1 + 1000u * static_cast<unsigned>(turn)));
  }
  return longest > apart;
}

}  // namespace

void judge_shared_caches(Node& node, const std::vector<Card>& all) {
  // With TUTTI_TOPOLOGY it is the user who says.
  if (!node.settings.topology.empty()) return;
  if (std::none_of(all.begin(), all.end(), [](const Card& each) { return each.virtual_machine != 0; })) return;
  if (common(some_are_apart(node) ? 0 : 1)) return;
  for (topology::RankPlace& place : node.placement.ranks)
    place.domain[topology::index_of(topology::LevelKind::l3)] = -1;
  node.log.note("cores of this virtual machine do not share the L3 that it says they share");
}

}  // namespace tutti::mpi
