// What the ranks of a node map of each other, and which mechanisms work between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "memory/arena.h"
#include "memory/window.h"
#include "mpi/start/descriptors.h"
#include "mpi/start/node_ranks.h"
#include "mpi/start/xpmem_setup.h"

namespace tutti::mpi {

/// This rank's arena; null, with the reason, if the system refuses. Nothing is allocated in it yet.
std::unique_ptr<memory::Arena> create_arena(std::string& reason);

/// What this rank shares.
struct OwnMemory {
  const memory::Window* window = nullptr;  ///< null if there is none
  const XpmemShare& xpmem;
  const std::uint64_t& word;  ///< the magic value, which peers read and write to try cross-memory attach and xpmem
};

/// Maps what peers share, and tries every mechanism by a real transfer. Returns those of `allowed` that work
/// between all ranks, the same on all. Collective over MPI_COMM_WORLD.
/// cma_reason: why this rank cannot use cross-memory attach, unchanged if it can.
unsigned agree_on_mechanisms(Node& node, const NodeRanks& here, DescriptorSocket& socket, const OwnMemory& own,
                             unsigned allowed, std::string& cma_reason);

/// The bits that are set on all ranks of MPI_COMM_WORLD.
unsigned common(unsigned bits);

/// Of what was mapped of the peers, the program gets back the address space of what is not used.
void unmap_unused(Node& node, unsigned mechanisms);

}  // namespace tutti::mpi
