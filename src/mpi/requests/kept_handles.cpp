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
/// differ: both are addresses, or numbers that tell the kind. Never destroyed.
std::vector<KeptHandle>& kept_handles = *new std::vector<KeptHandle>;
constinit std::mutex kept_mutex;  ///< of them
/// How many there are: no lock is taken by programs that have none.
std::atomic<std::size_t> kept_count{0};

auto find_kept(std::uintptr_t key) {
  return std::find_if(kept_handles.begin(), kept_handles.end(),
                      [key](const KeptHandle& each) { return each.key == key; });
}

}  // namespace

void keep_handle(std::uintptr_t key) {
  const std::lock_guard lock(kept_mutex);
  const auto found = find_kept(key);
  if (found == kept_handles.end())
    kept_handles.push_back({key, 1, false});
  else
    ++found->keepers;
  kept_count.store(kept_handles.size(), std::memory_order_relaxed);
}

bool let_handle_go(std::uintptr_t key) {
  const std::lock_guard lock(kept_mutex);
  const auto found = find_kept(key);
  if (--found->keepers > 0) return false;
  const bool freed = found->freed;
  kept_handles.erase(found);
  kept_count.store(kept_handles.size(), std::memory_order_relaxed);
  return freed;
}

bool free_later(std::uintptr_t key) {
  if (kept_count.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(kept_mutex);
  const auto found = find_kept(key);
  if (found == kept_handles.end()) return false;
  found->freed = true;
  return true;
}

}  // namespace tutti::mpi
