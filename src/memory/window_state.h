// What the parts of Window's implementation share; nobody else includes it.
#pragma once

#include <array>
#include <csignal>
#include <mutex>

#include "memory/available.h"
#include "memory/window.h"
#include "memory/window_heap.h"

namespace tutti::memory {

/// The allocator and what it needs to know; everything but the lock itself is guarded by the lock.
struct Window::Heap {
  ~Heap() {
    if (blocks) tutti_window_heap_destroy(blocks);
  }
  std::mutex lock;
  tutti_window_heap* blocks = nullptr;
  WindowStatistics statistics;
  /// Bytes from the base to the end of the highest block that was ever handed out, or to what is in use since
  /// address space was given back.
  std::size_t high_water = 0;
  /// Estimate of the bytes that are free but still hold pages.
  std::size_t retained = 0;
  /// How many such bytes are kept for reuse before they are given back.
  std::size_t retain_at_most = 0;
};

/// One fork of the owner at a time; the lock is held from fork_prepare to fork_in_parent.
struct Window::ForkState {
  /// Offsets [begin, end) of memory.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  std::mutex lock;
  std::size_t (*available)() noexcept = available_memory;
  int done[2] = {-1, -1};       ///< the child writes a byte when it has its copy, or ends and so closes it
  sigset_t signals;             ///< the mask to restore
  Child copy = Child::nothing;  ///< what the child is to get
  bool inherited = false;       ///< the descriptor is lost: the child inherits the mapping and copies from there
  /// What is not copied into a partial child, in ascending order; blocks beyond the room of the list are
  /// copied.
  std::array<Range, 256> left_out;
  std::size_t left_out_count = 0;
};

}  // namespace tutti::memory
