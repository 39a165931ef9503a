// What one rank knows of its node: itself, its peers' memory, how it waits. Passed in everywhere; the core has no
// process-global state, so that ranks can be threads of one process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "memory/arena.h"
#include "memory/attachments.h"
#include "memory/copy_requests.h"
#include "memory/huge_pages.h"
#include "memory/page_ranges.h"
#include "memory/region.h"
#include "memory/rows.h"
#include "memory/view.h"
#include "memory/viewed.h"
#include "memory/window_spans.h"
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

  std::vector<memory::Peer> peers;                   ///< by node-local rank, oneself included
  std::unique_ptr<memory::Viewed> viewed;            ///< what of the peers' windows counts as this rank's; may be null
  std::vector<std::unique_ptr<memory::View>> views;  ///< through which the peers' memory is seen
  std::shared_ptr<memory::Arena> arena;              ///< several threads of a process may have one (src/teams)
  std::unique_ptr<memory::Rows> rows;  ///< in the arena, of a byte for each rank of the node; null where nobody parts
  std::unique_ptr<sync::Waiter> waiter;
  topology::Placement placement;  ///< where the node's ranks sit

  /// Own window; empty when there is none. `window_shared` and `cma` are agreed by all ranks of the node.
  const std::byte* window_base = nullptr;
  const std::atomic<std::size_t>* window_extent = nullptr;  ///< how much of it there is; it grows
  const memory::WindowSpans* window_spans = nullptr;        ///< other addresses where its pages are; may be null
  bool window_shared = false;
  bool cma = false;
  /// What the kernel reaches may be copied to where peers map it, where that is faster.
  bool may_stage = true;
  /// Pages of the own window that the program has mapped something else over, or protected; may be null.
  const memory::PageRanges* foreign = nullptr;
  memory::HugePages* huge_pages = nullptr;  ///< of the own window; may be null
  /// By which ranks ask each other for memory that they cannot reach; may be null.
  std::unique_ptr<memory::CopyRequests> requests;
  /// With xpmem, agreed by all ranks of the node: what this rank exposes, what it has attached of each peer (null for
  /// itself), and which operations run. Null without.
  std::shared_ptr<memory::Exposures> exposures;
  std::shared_ptr<memory::OperationClock> operations;
  bool poisons_flags = false;  ///< for tests, see Operation::poison()
  std::vector<std::unique_ptr<memory::Attachments>> attachments;
  /// Last-level caches of the node together; what does not fit there is copied past them.
  std::size_t cache_bytes = SIZE_MAX;
  /// Warnings that were given, a bit each, by all ranks of the node if they share memory.
  sync::Word<std::uint64_t> own_warnings;
  sync::Word<std::uint64_t>* warnings = &own_warnings;
  bool ranks_are_threads = false;  ///< then every pointer is valid for every rank
  bool oversubscribed = false;     ///< more ranks than cores

  /// True the first time that a rank of the node asks for this bit.
  bool is_first_to_warn(int bit) const {
    const std::uint64_t mask = std::uint64_t{1} << bit;
    return (warnings->fetch_or(mask, std::memory_order_relaxed) & mask) == 0;
  }

  /// By which means peers can reach `bytes` bytes at `address` without the owner's help; none if they cannot.
  memory::Kind reach(const void* address, std::size_t bytes) const {
    if (window_shared) {
      if (ranks_are_threads) return memory::Kind::direct;
      if (window_offset(address, bytes) != memory::WindowSpans::nowhere &&
          !(foreign && foreign->touches(address, bytes)))
        return memory::Kind::window;
    }
    if (requests && requests->were_needed_for(address, bytes)) return memory::Kind::none;
    if (exposures && memory::Region::is_attachable(address)) return memory::Kind::xpmem;
    return cma ? memory::Kind::cma : memory::Kind::none;
  }
  /// The region of `bytes` bytes at `address` by these means, which peers can use from now on.
  memory::Region reachable(const void* address, std::size_t bytes) const {
    switch (const memory::Kind kind = reach(address, bytes)) {
      case memory::Kind::window: {
        const std::size_t offset = window_offset(address, bytes);
        // A library may have begun to be unloaded.
        if (offset == memory::WindowSpans::nowhere) return {};
        if (huge_pages && bytes >= memory::huge_page_bytes && huge_pages->is_waiting()) [[unlikely]]
          huge_pages->used(offset, offset + bytes);
        return {kind, offset};
      }
      case memory::Kind::xpmem:
        return exposures->expose(address, bytes);
      case memory::Kind::none:
        return {};
      default:
        return {kind, reinterpret_cast<std::uintptr_t>(address)};
    }
  }
  /// Of addresses that peers reach through the window: whether these find both as far apart as they are here. Static data
  /// lies elsewhere in the window's file.
  bool are_as_far_apart(const std::byte* one, const std::byte* other) const {
    if (!window_spans) return true;
    return window_offset(other, 1) - window_offset(one, 1) == static_cast<std::size_t>(other - one);
  }

 private:
  std::size_t window_bytes() const { return window_extent ? window_extent->load(std::memory_order_relaxed) : 0; }
  /// nowhere: it is not the window's.
  std::size_t window_offset(const void* address, std::size_t bytes) const {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - window_base);
    if (offset < window_bytes()) return offset;
    return window_spans ? window_spans->find(address, bytes) : memory::WindowSpans::nowhere;
  }
};

}  // namespace tutti
