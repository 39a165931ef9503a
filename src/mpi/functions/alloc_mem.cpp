// MPI_Alloc_mem from the window: also in programs that bring their own malloc, whose other memory is not in it.

#include <mutex>
#include <unordered_set>

#include "mpi/communicators.h"
#include "mpi/functions/interpose.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// Hosts allocate their blocks with malloc, so that theirs may lie in the window too: an address does not tell.
struct OurBlocks {
  std::mutex mutex;
  std::unordered_set<void*> ours;
};
OurBlocks& blocks() {
  static OurBlocks& all = *new OurBlocks;  // never destroyed: blocks may be freed at the very end of the process
  return all;
}

constexpr std::size_t alignment = 64;

/// A block of the window of at least `bytes` bytes in `*block`. False if the request is the host's: small, with hints,
/// or there is no window that peers can read.
bool allocate_from_window(MPI_Aint bytes, MPI_Info info, void** block) {
  const Job* now = job();
  if (!now || !now->node.window_shared || info != MPI_INFO_NULL || !block || bytes <= 0) return false;
  if (static_cast<std::size_t>(bytes) < now->node.settings.window_min) return false;
  memory::Window* window = memory::process_window();
  void* const made = window ? window->allocate(static_cast<std::size_t>(bytes), alignment) : nullptr;
  if (!made) return false;
  const std::lock_guard lock(blocks().mutex);
  blocks().ours.insert(made);
  *block = made;
  return true;
}

/// Takes back what allocate_from_window gave. False if the block is not one of those.
bool release_to_window(void* block) {
  {
    const std::lock_guard lock(blocks().mutex);
    if (blocks().ours.erase(block) == 0) return false;
  }
  memory::serving::owner()->release(block);
  return true;
}

}  // namespace

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  if (allocate_from_window(size, info, static_cast<void**>(baseptr))) return MPI_SUCCESS;
  return next.Alloc_mem(size, info, baseptr);
}

TUTTI_EXPORT int MPI_Free_mem(void* base) {
  if (release_to_window(base)) return MPI_SUCCESS;
  return next.Free_mem(base);
}
