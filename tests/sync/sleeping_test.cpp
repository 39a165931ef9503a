// Threads of one rank that sleep on its one word.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "sync/waiter.h"
#include "system.h"

namespace tutti::sync {
namespace {

/// Threads of this process that sleep in the kernel's futex, as it tells of each.
int sleepers(const std::vector<pid_t>& threads) {
  int count = 0;
  for (const pid_t each : threads) {
    char path[64], text[16] = "";
    std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", static_cast<int>(each));
    if (std::FILE* const file = std::fopen(path, "re")) {
      if (std::fgets(text, sizeof text, file) && std::atol(text) == SYS_futex) ++count;
      std::fclose(file);
    }
  }
  return count;
}

struct Ranks {
  Doorbell doorbells[2];
  std::unique_ptr<Waiter> waiter_of(int rank) {
    WaitOptions options;
    options.mode = WaitOptions::Mode::sleep;
    options.spin = 0;
    options.rank = rank;
    options.doorbells = {&doorbells[0], &doorbells[1]};
    return make_waiter(std::move(options));
  }
};

TEST(Sleeping, WhoEndsItsWaitLeavesTheWordToOthersThatSleep) {
  Ranks ranks;
  const auto waiter = ranks.waiter_of(0);
  const WaitReason reason{"a test"};
  // A thread whose sleep ends by itself. Where others have the processor it takes long to go to sleep.
  int looks_asleep = 0;
  const Word<std::uint32_t>& word = ranks.doorbells[0].sleeping;
  wait(*waiter, reason, [&] { return word.load(std::memory_order_relaxed) == 1 && ++looks_asleep > 3; });
  EXPECT_EQ(ranks.doorbells[0].sleeping.load(std::memory_order_relaxed), 1u)
      << "another thread that sleeps would not be woken";
  const int self = 0;
  ranks.waiter_of(1)->wake(&self, 1);
  EXPECT_EQ(ranks.doorbells[0].sleeping.load(std::memory_order_relaxed), 0u);
}

TEST(Sleeping, AllThreadsThatSleepAreWoken) {
  if (!test::proc_tells_of_the_program()) GTEST_SKIP() << "/proc tells of what emulates the program";
  Ranks ranks;
  const auto waker = ranks.waiter_of(1);
  for (int round = 0; round < 20; ++round) {
    Word<std::uint32_t>& word = ranks.doorbells[0].sleeping;
    std::atomic<int> started{0}, woken{0};
    std::vector<pid_t> ids(2);
    std::vector<std::thread> threads;
    word.store(1, std::memory_order_relaxed);
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        ids[static_cast<std::size_t>(i)] = static_cast<pid_t>(syscall(SYS_gettid));
        ++started;
        // As in a wait, but for much longer: a sleep that ends by itself is one that nobody has ended.
        const timespec limit{60, 0};
        if (syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), 0 /* FUTEX_WAIT */, 1, &limit, nullptr, 0) == 0)
          ++woken;
      });
    while (started.load() < 2 || sleepers(ids) < 2) std::this_thread::yield();
    const int sleeping = 0;
    waker->wake(&sleeping, 1);
    for (std::thread& each : threads) each.join();
    ASSERT_EQ(woken.load(), 2) << "round " << round;
  }
}

}  // namespace
}  // namespace tutti::sync
