// How a rank waits for a flag. One replaceable object: the default spins, gives the host MPI a turn, yields and
// finally sleeps; a simulator or ranks as coroutines of one thread put another in its place.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/processor.h"
#include "sync/flag.h"

namespace tutti::sync {

/// For waits that end after a while.
inline std::chrono::steady_clock::time_point now() {
  if constexpr (simulated::on)
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(simulated::ticks()));
  return std::chrono::steady_clock::now();
}

/// Ranks that wait for each other's flags.
class Party {
 public:
  virtual std::uint64_t identity() const = 0;  ///< for messages; equal on all of them
  /// Called now and then in a wait of operation `sequence` that takes long; throws if the wait cannot end.
  virtual void look(std::uint64_t sequence) = 0;
  /// What there is to say, in the report of such a wait, of the rank that is waited for: empty, or how a sentence ends.
  /// peer: node-local.
  virtual std::string remark(std::uint64_t /*sequence*/, int /*peer*/) const { return {}; }

 protected:
  ~Party() = default;
};

/// What one wait is about; kept by the caller, read when a wait is reported.
struct WaitReason {
  const char* collective = "";
  Party* party = nullptr;  ///< may be null: then nobody looks
  std::uint64_t sequence = 0;
  int peer = -1;  ///< node-local rank that is waited for
};

/// State of one wait, from the first unsuccessful polls to its end.
struct WaitState {
  const WaitReason& reason;
  const std::function<bool()>* ready = nullptr;  ///< re-checked before sleeping
  std::uint64_t rounds = 0;
  bool reported = false;
  std::chrono::steady_clock::time_point start{};
  std::chrono::steady_clock::time_point idle_since{};  ///< as far as is known, the host has had nothing to do
  std::chrono::steady_clock::time_point next_check{};
  std::chrono::steady_clock::time_point next_look{};
};

/// The policy. `spin` polls come first and are inlined at the place of the wait; then `idle` is called between polls.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Called after unsuccessful polls; may yield, sleep, run the host's progress, or throw if a peer is dead.
  virtual void idle(WaitState& state) = 0;
  /// Called after a flag was set when ranks may sleep: wakes those of `peers` that do.
  virtual void wake(const int* peers, int count) = 0;

  unsigned tight = 0;  ///< polls without a pause, before all others
  unsigned spin = 2000;
  bool sleepers_possible = false;  ///< publishers must call `wake`
  bool shares_processor = false;   ///< who asks in vain gives the processor to others
};

/// Asks again and again, for as long as a wait is worth spinning; whether poll() has become true.
template <class Poll>
inline bool poll_for_a_while(const Waiter& waiter, Poll&& poll) {
  // A peer that comes at once is seen at once: a pause costs tens of nanoseconds, as much as half a flag hop.
  for (unsigned i = 0; i < waiter.tight; ++i)
    if (poll()) return true;
  for (unsigned i = 0; i < waiter.spin; ++i) {
    if (poll()) return true;
    processor::relax();
  }
  return poll();
}

/// Waits until poll() is true, and then stays true: whoever goes to sleep asks once more before.
template <class Poll>
inline void wait(Waiter& waiter, const WaitReason& reason, Poll&& poll) {
  if (poll_for_a_while(waiter, poll)) return;
  const std::function<bool()> ready = [&poll] { return poll(); };
  WaitState state{reason};
  state.ready = &ready;
  while (!poll()) waiter.idle(state);
}

/// The word on which a rank sleeps. Written by its rank and by whoever wakes it: the one exception to single-writer
/// flags, off the path of a collective unless somebody sleeps.
struct alignas(line_bytes) Doorbell {
  Word<std::uint32_t> sleeping;

  /// The rank will sleep unless what it waits for is there, for which it looks once more now.
  void will_sleep() {
    sleeping.store(1, std::memory_order_relaxed);
    thread_fence();
  }
  /// After a thread_fence() behind what the rank may wait for. Whether it is to be woken.
  bool ring() {
    if (sleeping.load(std::memory_order_relaxed) == 0) return false;
    sleeping.store(0, std::memory_order_relaxed);
    return true;
  }
};

/// What the default policy needs to know and to call; functions may be empty.
struct WaitOptions {
  enum class Mode { spin, yield, sleep };
  Mode mode = Mode::spin;  ///< what follows the spinning; `sleep` when there are more ranks than cores
  unsigned spin = 2000;    ///< polls before the first idle round
  std::chrono::nanoseconds report_after{0};
  std::vector<Doorbell*> doorbells;  ///< by node-local rank; may be empty for modes other than sleep
  int rank = 0;                      ///< own node-local rank
  std::function<void()> host_progress;
  /// Whether peers may at any time need this rank in the host MPI, whatever it waits for: then it does not sleep.
  std::function<bool()> host_is_needed;
  std::function<void(const WaitReason&)> check_peers;  ///< called now and then; ends the job if a peer is dead
  std::function<void(const WaitReason&)> report;
  /// Does what peers have asked of this rank (memory/copy_requests.h); true if there was something.
  std::function<bool()> serve;
};

std::unique_ptr<Waiter> make_waiter(WaitOptions options);

}  // namespace tutti::sync
