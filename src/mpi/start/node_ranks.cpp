#include "mpi/start/node_ranks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "mpi/host.h"
#include "preload/other_allocators.h"
#include "topology/cpu_set.h"

namespace tutti::mpi {

namespace {

constexpr std::uint64_t empty_hash = 0xcbf29ce484222325ull;  // FNV-1a

std::uint64_t mix(std::uint64_t hash, const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3ull;
  return hash;
}

/// Equal on processes that run under one kernel and see each other by process number.
std::uint64_t host_hash() {
  std::uint64_t hash = empty_hash;
  char text[128];
  if (const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t got = read(file, text, sizeof text);
    if (got > 0) hash = mix(hash, text, static_cast<std::size_t>(got));
    close(file);
  }
  if (gethostname(text, sizeof text) == 0) hash = mix(hash, text, strnlen(text, sizeof text));
  struct stat space {};
  if (stat("/proc/self/ns/pid", &space) == 0) hash = mix(hash, &space.st_ino, sizeof space.st_ino);
  return hash;
}

/// Whether the job was started to go on when ranks die (Open MPI's fault tolerance). Then programs wait for errors that
/// only the host can give, with what has to be done about them.
bool outlives_its_ranks() {
  const char* const enabled = std::getenv("OMPI_MCA_mpi_ft_enable");
  return enabled && std::strchr("1tTyY", *enabled) && *enabled;
}

/// What ranks that share memory have in common.
auto node_of(const Card& card) {
  return std::make_tuple(card.host, card.user, card.make_believe_node);
}

}  // namespace

std::uint64_t hash_of(const std::string& variables) {
  return mix(empty_hash, variables.data(), variables.size());
}

Card card_of_this_process() {
  Card card{};
  card.host = host_hash();
  card.process = getpid();
  card.user = static_cast<std::int32_t>(getuid());
  card.arena_descriptor = -1;
  card.window_descriptor = -1;
  card.world_offset = no_offset;
  card.outlives_ranks = outlives_its_ranks() ? 1 : 0;
  int threads = MPI_THREAD_SINGLE;
  host.Query_thread(&threads);
  card.threads_may_call = threads == MPI_THREAD_MULTIPLE ? 1 : 0;
  card.values_watched = memory::watcher_of_allocations().by == memory::Watcher::values ? 1 : 0;
  card.quota = time_quota();
  const std::vector<std::uint64_t> affinity = topology::affinity_of_this_thread().words();
  std::copy_n(affinity.begin(), std::min(affinity.size(), affinity_words), card.affinity);
  return card;
}

NodeRanks node_ranks_of(int world_rank, const std::vector<Card>& all) {
  NodeRanks here;
  const Card& mine = all[static_cast<std::size_t>(world_rank)];
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (node_of(all[i]) != node_of(mine)) continue;
    if (static_cast<int>(i) == world_rank) here.self = static_cast<int>(here.cards.size());
    here.world_ranks.push_back(static_cast<int>(i));
    here.cards.push_back(all[i]);
  }
  return here;
}

std::vector<Card> cards_of_machine(int world_rank, const std::vector<Card>& all) {
  const Card& mine = all[static_cast<std::size_t>(world_rank)];
  std::vector<Card> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const Card& each) { return each.host == mine.host && each.user == mine.user; });
  return found;
}

bool any_share_a_node(const std::vector<Card>& all) {
  std::set<decltype(node_of(all.front()))> nodes;
  return !std::all_of(all.begin(), all.end(), [&](const Card& card) { return nodes.insert(node_of(card)).second; });
}

std::vector<Entry> world_entries(const std::vector<Card>& all) {
  struct Known {
    std::uint64_t identity = 0;
    std::int32_t ranks = 0;
  };
  std::map<decltype(node_of(all.front())), Known> nodes;
  std::vector<Entry> entries;
  for (const Card& card : all) {
    Known& node = nodes[node_of(card)];
    // Its first rank tells it from others, of other jobs too.
    if (node.ranks == 0) {
      node.identity = mix(card.host, &card.process, sizeof card.process);
      node.identity = mix(node.identity, &card.magic_address, sizeof card.magic_address);
    }
    entries.push_back({node.identity, card.world_offset, 1, node.ranks++, 0});
  }
  return entries;
}

}  // namespace tutti::mpi
