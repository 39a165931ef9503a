#include "sync/waiter.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>

namespace tutti::sync {

namespace {

using namespace std::chrono_literals;

/// Shorter than a launcher needs to notice a dead rank and to kill the others, so that ours is the first word.
constexpr auto check_interval = 20us;
/// Longer than any wait for a rank that only has its turn on a core.
constexpr auto look_interval = 4ms;
/// Rounds of yielding before a rank sleeps. A round is a scheduling turn of the others on the core when the core is
/// shared, so a wait in a running collective ends well before; what remains are long waits for a computing rank.
constexpr std::uint64_t yields_before_sleep = 300;
constexpr std::uint64_t yields_between_host_turns = 8;
/// A rank sleeps for this part of the time in which the host has had nothing to do, so that messages which it has a part in
/// take little longer for it.
constexpr int idle_parts = 8;
constexpr std::chrono::nanoseconds shortest_sleep = 50us, longest_sleep = 1ms;
/// The host asks for what has come in less. What takes longer moves data, and more is likely to come.
constexpr auto working_turn = 10us;

class DefaultWaiter final : public Waiter {
 public:
  explicit DefaultWaiter(WaitOptions options) : options_(std::move(options)) {
    spin = options_.spin;
    tight = options_.mode == WaitOptions::Mode::spin ? 100 : 0;
    shares_processor = options_.mode != WaitOptions::Mode::spin;
    sleepers_possible = options_.mode == WaitOptions::Mode::sleep && !options_.doorbells.empty();
  }

  void idle(WaitState& state) override {
    const std::uint64_t round = state.rounds++;
    const bool spinning = options_.mode == WaitOptions::Mode::spin;
    const bool needed = options_.host_is_needed && options_.host_is_needed();
    if (options_.host_progress &&
        (spinning || needed || round % yields_between_host_turns == yields_between_host_turns - 1))
      options_.host_progress();
    if (spinning)
      for (int i = 0; i < 32; ++i) processor::relax();
    if (round % 8 == 7) look_around(state);
    if (sleepers_possible && round >= yields_before_sleep && !needed)
      sleep(state);
    else
      sched_yield();
  }

  void wake(const int* peers, int count) override {
    // Either the sleeper sees the flag, or we see that it sleeps.
    thread_fence();
    for (int i = 0; i < count; ++i) {
      if (peers[i] == options_.rank) continue;
      Doorbell& bell = *options_.doorbells[static_cast<std::size_t>(peers[i])];
      // Several threads of the rank may sleep on it.
      if (bell.ring())
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.sleeping), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  }

 private:
  void look_around(WaitState& state) {
    const auto now = std::chrono::steady_clock::now();
    if (state.start == decltype(now){}) {
      state.start = state.idle_since = now;
      state.next_check = now + check_interval;
      state.next_look = now + look_interval;
    }
    if (now < state.next_check) return;
    state.next_check = now + check_interval;
    if (options_.serve) options_.serve();
    if (options_.check_peers) options_.check_peers(state.reason);
    if (state.reason.party && now >= state.next_look) {
      state.next_look = now + look_interval;
      state.reason.party->look(state.reason.sequence);
    }
    if (options_.report_after.count() > 0 && !state.reported && now - state.start >= options_.report_after) {
      state.reported = true;
      if (options_.report) options_.report(state.reason);
    }
  }

  void sleep(WaitState& state) {
    Doorbell& bell = *options_.doorbells[static_cast<std::size_t>(options_.rank)];
    bell.will_sleep();
    // A peer that asks for something wakes this rank as one does that sets a flag.
    if (!(*state.ready)() && !(options_.serve && options_.serve())) {
      // Bounded: the host MPI may need us although no flag moves.
      const std::chrono::nanoseconds idle = std::chrono::steady_clock::now() - state.idle_since;
      const timespec limit{0, std::clamp(idle / idle_parts, shortest_sleep, longest_sleep).count()};
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.sleeping), FUTEX_WAIT, 1, &limit, nullptr, 0);
    }
    // The word stays for who wakes: another thread of this rank may sleep on.
    look_around(state);
    if (!options_.host_progress) return;
    const auto before = std::chrono::steady_clock::now();
    options_.host_progress();
    const auto after = std::chrono::steady_clock::now();
    if (after - before < working_turn) return;
    state.idle_since = after;
    state.rounds = 0;
  }

  WaitOptions options_;
};

}  // namespace

std::unique_ptr<Waiter> make_waiter(WaitOptions options) {
  return std::make_unique<DefaultWaiter>(std::move(options));
}

}  // namespace tutti::sync
