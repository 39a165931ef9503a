// How ranks of one process run: as threads or, in a build for simulators, as fibres of one thread, in an order that follows
// from a seed (tests/simulated).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/simulated.h"
#include "sync/waiter.h"

#if defined(TUTTI_SIMULATED)
#include "simulated/seeds.h"
#else
#include <barrier>

#include "memory/copy_requests.h"
#endif

namespace tutti::test {

#if defined(TUTTI_SIMULATED)

using RankWaiter = simulated::FiberWaiter;

inline void side_by_side(int ranks, const std::function<void(int)>& body) {
  simulated::run_by_seed(ranks, body);
}

/// Where as many as it is made for wait for each other.
class MeetingPoint {
 public:
  explicit MeetingPoint(int count) : count_(static_cast<std::uint64_t>(count)) {}
  void arrive_and_wait() {
    std::uint64_t before = arrived_.load(std::memory_order_relaxed);
    while (!arrived_.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    const std::uint64_t all = (before / count_ + 1) * count_;
    while (arrived_.load(std::memory_order_acquire) < all) simulated::pause();
  }

 private:
  const std::uint64_t count_;
  sync::Word<std::uint64_t> arrived_;
};

#else

/// Yields as the default policy does, and sees to it that what has come stays: policies may ask more than once.
class RankWaiter : public sync::Waiter {
 public:
  explicit RankWaiter(memory::CopyRequests* requests = nullptr) {
    sync::WaitOptions options;
    if (requests) options.serve = [requests] { return requests->serve(); };
    options.mode = sync::WaitOptions::Mode::yield;
    policy_ = sync::make_waiter(options);
    spin = 10;
  }
  void idle(sync::WaitState& state) override {
    if ((*state.ready)() && !(*state.ready)()) throw std::logic_error("a poll that was true is false: " + text(state));
    policy_->idle(state);
  }
  void wake(const int* peers, int count) override { policy_->wake(peers, count); }

 private:
  static std::string text(const sync::WaitState& state) {
    const sync::WaitReason& reason = state.reason;
    return std::string(reason.collective) + " number " + std::to_string(reason.sequence) + " waits for rank " +
           std::to_string(reason.peer);
  }
  std::unique_ptr<sync::Waiter> policy_;
};

/// Runs `body(rank)` for all ranks at the same time, until all are over.
inline void side_by_side(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (auto& thread : threads) thread.join();
}

/// Where as many as it is made for wait for each other.
class MeetingPoint {
 public:
  explicit MeetingPoint(int count) : all_(count) {}
  void arrive_and_wait() { all_.arrive_and_wait(); }

 private:
  std::barrier<> all_;
};

#endif

}  // namespace tutti::test
