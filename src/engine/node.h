// What one rank knows of its node: itself, its peers' memory, how it waits. Passed in everywhere; the core has no
// process-global state, so that ranks can be threads of one process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "memory/arena.h"
#include "memory/region.h"
#include "sync/waiter.h"
#include "topology/placement.h"

namespace tutti {

/// One rank's view of the node. Everything that influences an algorithm is equal on all ranks of the node, or travels
/// with the operation.
struct Node {
  int rank = 0;  ///< node-local
  int size = 1;
  Settings settings;
  Log log;

  std::vector<memory::Peer> peers;  ///< by node-local rank, oneself included
  std::unique_ptr<memory::Arena> arena;
  std::unique_ptr<sync::Waiter> waiter;
  topology::Placement placement;  ///< where the node's ranks sit

  /// Own window; empty when there is none. `window_shared` and `cma` are agreed by all ranks of the node.
  const std::byte* window_base = nullptr;
  std::size_t window_bytes = 0;
  bool window_shared = false;
  bool cma = false;
  /// Last-level caches of the node together; what does not fit there is copied past them.
  std::size_t cache_bytes = SIZE_MAX;
  bool ranks_are_threads = false;  ///< then every pointer is valid for every rank
  bool oversubscribed = false;     ///< more ranks than cores

  /// How peers reach `address` without the owner's help; kind none if they cannot.
  memory::Region reachable(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    if (window_shared) {
      if (ranks_are_threads) return {memory::Kind::direct, reinterpret_cast<std::uintptr_t>(byte)};
      const auto offset = static_cast<std::size_t>(byte - window_base);
      if (offset < window_bytes) return {memory::Kind::window, offset};
    }
    if (cma) return {memory::Kind::cma, reinterpret_cast<std::uintptr_t>(byte)};
    return {};
  }
};

}  // namespace tutti
