// When the host gets its turn in calls that it has no part in. See docs/decisions/giving-the-host-its-turn.md.
#pragma once

#include <atomic>

#include "sync/flag.h"

namespace tutti::mpi {

/// A process has one. Counts calls; that threads which call at the same time may count one for two does no harm. Nothing else
/// lies in its line, which changes in every call.
class alignas(sync::line_bytes) HostTurns {
 public:
  /// To be called at the end of each call that the library has carried out without the host.
  void after_call() {
    const int left = left_.load(std::memory_order_relaxed);
    if (left > 0) [[likely]]
      left_.store(left - 1, std::memory_order_relaxed);
    else
      take();
  }
  /// The program has begun to do what peers need this rank for in the host, or what needs the host's progress without
  /// anybody's waiting: from now on, until it ends that, there is a turn in every call.
  void begin_need() {
    needs_.fetch_add(1, std::memory_order_relaxed);
    left_.store(0, std::memory_order_relaxed);
  }
  void end_need() { needs_.fetch_sub(1, std::memory_order_relaxed); }
  bool is_needed() const { return needs_.load(std::memory_order_relaxed) > 0; }

 private:
  void take();

  std::atomic<int> left_{0};   ///< calls before the next turn
  std::atomic<int> needs_{0};  ///< windows and buffers of the program
  std::atomic<int> least_{0};  ///< what a turn costs in which nothing comes, nanoseconds; 0 before the first
};

extern constinit HostTurns host_turns;

}  // namespace tutti::mpi
