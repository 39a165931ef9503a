// The ranks of a node, and what each says of itself at start-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/control_groups.h"
#include "mpi/start/xpmem_setup.h"
#include "selection/shipped.h"

namespace tutti::mpi {

constexpr std::size_t affinity_words = 32;  // 2048 processing units

/// What each rank tells all others at start-up.
struct Card {
  std::uint64_t host;  ///< equal on ranks that see each other's processes
  std::int32_t process;
  std::int32_t user;
  std::int32_t arena_descriptor;
  std::int32_t window_descriptor;
  std::uint64_t arena_bytes;   ///< the most that it may hold
  std::uint64_t window_bytes;  ///< the same of the window
  std::uint64_t arena_address;
  std::uint64_t window_address;
  std::uint64_t window_probe;  ///< offset of the magic value in the window
  std::uint64_t magic_address;
  std::uint64_t variables;     ///< hash of the settings that all that follows was made by
  std::uint64_t world_offset;  ///< of this rank's shared part of MPI_COMM_WORLD in its arena; no_offset: it is full
  XpmemCard xpmem;
  // How many files rank 0 of the job has to read: usually none, then nothing needs to be said about them.
  std::int32_t probe_files;
  std::int32_t table_files;
  std::int32_t outlives_ranks;     ///< the job goes on when some of its ranks die
  std::int32_t make_believe_node;  ///< by TUTTI_RANKS_PER_NODE; 0 without
  std::int32_t threads_may_call;   ///< MPI_THREAD_MULTIPLE
  std::int32_t window_has_huge_pages;
  std::int32_t virtual_machine;
  selection::Maker maker;       ///< of the processor
  std::int32_t values_watched;  ///< memory that this library writes would look as if nobody had (other_allocators.h)
  TimeQuota quota;
  std::uint64_t affinity[affinity_words];
};

/// For Card::variables: equal where they are.
std::uint64_t hash_of(const std::string& variables);

/// Where there is no room in an arena.
constexpr std::uint64_t no_offset = ~std::uint64_t{0};

/// What the ranks of a communicator know of each other when its state is built.
struct Entry {
  /// This thread has seen the state of a communicator with this handle go, and not the end of that.
  static constexpr std::int32_t is_gone = 1;
  /// This rank has as many communicators for messages between nodes as it may have.
  static constexpr std::int32_t has_too_many = 2;

  std::uint64_t node;      ///< equal on the ranks of this job and node, different otherwise
  std::uint64_t offset;    ///< of the shared part in the rank's arena, or no_offset
  std::uint64_t identity;  ///< of the communicator, if this is its first rank
  std::int32_t node_rank;
  /// MiB from the beginning of each arena of the node that this rank can map for certain.
  std::int32_t arena_reach = 0;
  std::int32_t flags = 0;
  std::uint32_t row = 0;  ///< where others tell this rank that they have freed it, in memory::Rows::unit_bytes
  std::int32_t rank = 0;  ///< in the communicator
  std::int32_t padding = 0;
  std::uint64_t free_apart = 0;  ///< see KeptApart
};

/// The ranks of this node and what each said.
struct NodeRanks {
  std::vector<int> world_ranks;
  std::vector<Card> cards;
  int self = 0;
};

/// A card with what is known of this process before it shares anything.
Card card_of_this_process();

/// all: the cards by rank in MPI_COMM_WORLD.
NodeRanks node_ranks_of(int world_rank, const std::vector<Card>& all);

/// Those of this machine, with make-believe nodes or without.
std::vector<Card> cards_of_machine(int world_rank, const std::vector<Card>& all);

/// Whether there is a node with more than one rank.
bool any_share_a_node(const std::vector<Card>& all);

/// The entries for MPI_COMM_WORLD, from the same cards.
std::vector<Entry> world_entries(const std::vector<Card>& all);

}  // namespace tutti::mpi
