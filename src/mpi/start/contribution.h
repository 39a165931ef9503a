// What a rank makes at start-up for the others to map, and the card on which it says where that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/start/arena_header.h"
#include "mpi/start/mechanisms.h"
#include "mpi/start/node_ranks.h"
#include "mpi/start/node_setup.h"
#include "mpi/start/peer_memory.h"

namespace tutti::mpi {

/// Made from the settings alone; what other ranks do has no part in it.
struct Contribution {
  AskedMechanisms asked;  ///< by TUTTI_MECHANISM
  memory::Window* window = nullptr;
  void* probe = nullptr;  ///< in the window, holds the magic value
  ArenaHeader* header = nullptr;
  std::string arena_reason, window_reason, xpmem_reason;  ///< why there is none
  std::vector<std::string> probes, tables;                ///< files that rank 0 of the job has to read
  Card card;

  OwnMemory own_memory(const Job& job) const;
};

/// By job.node.settings, and for an MPI_COMM_WORLD of `world_size` ranks: the arena and what xpmem needs go into the
/// job. Where the settings say that the library is off, only a card. variables: hash of those settings.
Contribution make_contribution(Job& job, int world_rank, int world_size, std::uint64_t variables);

/// Takes everything back; no rank may have mapped any of it.
void withdraw(Job& job, const Contribution& contribution);

}  // namespace tutti::mpi
