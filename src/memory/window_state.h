// What the parts of Window's implementation share; nobody else includes it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
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
  /// The bytes for which memory is opened.
  std::size_t asked = 0;
  /// Where in a page the next large block begins.
  std::size_t next_place = 0;
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
  /// In ascending order.
  struct Ranges {
    std::array<Range, 256> range;
    std::size_t count = 0;
    /// What there is no room for is left out.
    void add(std::size_t begin, std::size_t end) noexcept {
      if (count < range.size()) range[count++] = {begin, end};
    }
  };
  /// What parent and child of one fork tell each other, in memory that they share.
  struct Together {
    static constexpr std::size_t nothing = SIZE_MAX;
    std::atomic<std::size_t> next{0};               ///< the part that whoever is free copies next
    std::atomic<std::size_t> with_parent{nothing};  ///< the one that the parent has taken, and has not copied yet
    std::atomic<std::size_t> done{0};               ///< grows as long as the child gets on
    std::size_t count = 0;
    std::array<Range, 4000> part;
  };
  bool open_channels(bool together) noexcept;
  void close_channels() noexcept;
  void tell_parent(pid_t message) const noexcept;
  bool hear_child(pid_t& message) const noexcept;
  std::mutex lock;
  std::size_t (*available)() noexcept = available_memory;
  int to_parent[2] = {-1, -1};  ///< the child writes its number when there is memory to copy to, and 0 when it has its
                                ///< copy; or it ends and so closes it
  int to_child[2] = {-1, -1};   ///< the parent closes it when it copies nothing more
  Together* together = nullptr;
  pid_t parent = 0;
  sigset_t signals;             ///< the mask to restore
  Child copy = Child::nothing;  ///< what the child is to get
  std::size_t used = 0;         ///< bytes from the base behind which nothing has been handed out
  bool inherited = false;       ///< the descriptor is lost: the child inherits the mapping and copies from there
  Ranges left_out;              ///< what is not copied into a partial child
  Ranges unused;                ///< what is not copied since no block needs it
};

}  // namespace tutti::memory
