// What a rank makes at start-up for the others to map, by settings that are equal on all ranks, and the card on which it says
// where that is.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mpi/start/arena_header.h"
#include "mpi/start/mechanisms.h"
#include "mpi/start/node_ranks.h"
#include "mpi/start/node_setup.h"
#include "mpi/start/peer_memory.h"

namespace tutti::mpi {

/// By the settings alone; what other ranks do has no part in it.
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

/// Of this process alone. log: takes the warnings about wrong values.
Settings settings_of_this_process(const Log& log);

/// What this rank contributes, by settings that are the same on all ranks, and the cards of all, by rank. Collective over
/// MPI_COMM_WORLD. The settings, the arena and what xpmem needs go into the job; where the settings say that the
/// library is off, a rank contributes only a card. One exchange where all ranks have the same TUTTI_ variables, as nearly
/// always. Otherwise those of rank 0 are spread, and who has others makes its contribution anew.
std::pair<Contribution, std::vector<Card>> exchange_cards(Job& job, int world_rank, int world_size);

/// Takes everything back; no rank may have mapped any of it.
void withdraw(Job& job, const Contribution& contribution);

}  // namespace tutti::mpi
