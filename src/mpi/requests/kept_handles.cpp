#include "mpi/requests/kept_handles.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace tutti::mpi {

namespace {

struct KeptHandle {
  std::uintptr_t key;
  std::size_t keepers;
  bool freed;
};

/// Few: a program has few types with gaps and operators of its own in calls at once. The keys of types and operators
/// differ: both are addresses, or numbers that tell the kind.
struct KeptHandles {
  std::mutex mutex;
  std::vector<KeptHandle> all;

  auto find(std::uintptr_t key) {
    return std::find_if(all.begin(), all.end(), [key](const KeptHandle& each) { return each.key == key; });
  }
};
KeptHandles& handles() {
  static KeptHandles& kept = *new KeptHandles;
  return kept;
}
/// How many there are: no lock is taken by programs that have none.
std::atomic<std::size_t> count{0};

}  // namespace

void keep_handle(std::uintptr_t key) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().find(key);
  if (found == handles().all.end())
    handles().all.push_back({key, 1, false});
  else
    ++found->keepers;
  count.store(handles().all.size(), std::memory_order_relaxed);
}

bool let_handle_go(std::uintptr_t key) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().find(key);
  if (--found->keepers > 0) return false;
  const bool freed = found->freed;
  handles().all.erase(found);
  count.store(handles().all.size(), std::memory_order_relaxed);
  return freed;
}

bool free_later(std::uintptr_t key) {
  if (count.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().find(key);
  if (found == handles().all.end()) return false;
  found->freed = true;
  return true;
}

}  // namespace tutti::mpi
