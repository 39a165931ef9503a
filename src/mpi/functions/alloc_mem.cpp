#include "mpi/functions/alloc_mem.h"

#include <mutex>
#include <unordered_set>

#include "mpi/communicators.h"
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

}  // namespace

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

bool release_to_window(void* block) {
  {
    const std::lock_guard lock(blocks().mutex);
    if (blocks().ours.erase(block) == 0) return false;
  }
  memory::serving::owner()->release(block);
  return true;
}

}  // namespace tutti::mpi
