// What libtutti-comm asks of the library for pointers to neighbours' memory, and for blocks that change their owner.
#include <algorithm>
#include <cstdint>

#include "memory/region.h"
#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"
#include "preload/given.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// The node whose ranks see each other's windows; null if they do not.
const Node* node_with_windows() {
  const Job* const all = job();
  return all && all->active && all->node.window_shared ? &all->node : nullptr;
}

/// The node rank of a rank of the communicator; -1: it does not see this one's window.
int neighbor(MPI_Comm communicator, int rank) {
  if (!node_with_windows() || rank < 0) return -1;
  const CommunicatorState* const state = state_for_messages(communicator);
  if (!state || static_cast<std::size_t>(rank) >= state->node_ranks.size()) return -1;
  return state->node_ranks[static_cast<std::size_t>(rank)];
}

bool reach(memory::View& view, std::size_t offset, std::size_t bytes) {
  return view.has(offset, bytes) || view.reach(offset, bytes);
}

/// Where the program has what lies at this offset of its own window's file: static data lies elsewhere.
void* own_pointer(const Node& node, std::size_t offset, std::size_t bytes) {
  std::uintptr_t elsewhere = 0;
  if (node.window_spans)
    node.window_spans->for_each_of_file(offset, offset + std::max(bytes, std::size_t{1}),
                                        [&](std::uintptr_t begin, std::uintptr_t) { elsewhere = begin; });
  if (elsewhere) return reinterpret_cast<void*>(elsewhere);
  return const_cast<std::byte*>(node.window_base) + offset;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti;

// Each gives 1, or 0 where the program has to do without; -1 comes from where there is no part for the MPI.

/// A block that neighbours see.
TUTTI_EXPORT int tutti_allocate(std::size_t bytes, void** block) {
  *block = memory::given::allocate(bytes);
  return *block != nullptr;
}

/// Frees a block that is of a window.
TUTTI_EXPORT int tutti_release(void* block) {
  return memory::given::release(block);
}

/// By what tutti_pointer_to finds the bytes on other ranks.
TUTTI_EXPORT int tutti_handle_of(const void* address, std::size_t bytes, std::uint64_t* handle) {
  const Node* const node = mpi::node_with_windows();
  if (!node || node->reach(address, bytes) != memory::Kind::window) return 0;
  const memory::Region region = node->reachable(address, bytes);
  *handle = region.bits();
  return region.kind() == memory::Kind::window;
}

TUTTI_EXPORT int tutti_pointer_to(MPI_Comm communicator, int rank, std::uint64_t handle, std::size_t bytes,
                                  void** pointer) {
  const int peer = mpi::neighbor(communicator, rank);
  const memory::Region region = memory::Region::from_bits(handle);
  if (peer < 0 || region.kind() != memory::Kind::window) return 0;
  const Node& node = *mpi::node_with_windows();
  if (peer == node.rank) {
    *pointer = mpi::own_pointer(node, region.offset(), bytes);
    return 1;
  }
  const memory::Peer& other = node.peers[static_cast<std::size_t>(peer)];
  if (!other.window_view || !mpi::reach(*other.window_view, region.offset(), bytes)) return 0;
  *pointer = other.window + region.offset();
  return 1;
}

/// The rank can take the block where it lies, which is its from now on.
TUTTI_EXPORT int tutti_give(MPI_Comm communicator, int rank, int tag, void* block, memory::given::Place* place) {
  if (mpi::neighbor(communicator, rank) < 0) return 0;
  const Node& node = *mpi::node_with_windows();
  // Pages that the program has made something else of are not seen by others.
  if (const memory::Window* const own = memory::process_window(); own && own->contains(block))
    if (node.reachable(block, own->usable_size(block)).kind() != memory::Kind::window) return 0;
  if (!memory::given::give(block, {rank, tag}, *place)) return 0;
  if (place->home == memory::given::Place::own_home) place->home = node.rank;
  return 1;
}

/// Nobody was told of it.
TUTTI_EXPORT int tutti_give_not(void* block) {
  memory::given::give_not(block);
  return 1;
}

/// Where the block is here, which is this process's from now on.
TUTTI_EXPORT int tutti_take(const memory::given::Place* place, void** block) {
  *block = nullptr;
  const Node* const node = mpi::node_with_windows();
  if (!node || place->home < 0 || static_cast<std::size_t>(place->home) >= node->peers.size()) return 0;
  if (place->home == node->rank) {
    *block = memory::given::take_own(*place);
    return 1;
  }
  const memory::Peer& home = node->peers[static_cast<std::size_t>(place->home)];
  memory::View* const view = home.window_view;
  const auto mapped = [&](std::size_t offset, std::size_t bytes) { return mpi::reach(*view, offset, bytes); };
  if (!view || !memory::given::needs(*place, mapped)) return 0;
  *block = memory::given::take(*place, view->base(), view->capacity());
  return *block != nullptr;
}
