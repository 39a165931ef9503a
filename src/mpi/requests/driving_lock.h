// The lock of what is under way: it is taken twice in each call, and hardly ever by two threads at once.
#pragma once

#include <sched.h>

#include <atomic>

namespace tutti::mpi {

class DrivingLock {
 public:
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    while (!try_lock()) sched_yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace tutti::mpi
