#include "mpi/wait/host_turns.h"

#include <algorithm>
#include <chrono>
#include <climits>

#include "mpi/communicators.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

constinit HostTurns host_turns;

namespace {

/// What turns may cost on average where nobody needs them, as small calls take a hundred nanoseconds.
constexpr int nanoseconds_a_call = 2;
/// Whatever a turn took: the first ones move data, or find nothing in the caches.
constexpr int calls_between_max = 300;

}  // namespace

void HostTurns::take() {
  if (!job() || is_progress_thread() || is_inside_host()) return;
  const auto before = std::chrono::steady_clock::now();
  requests.give_host_a_turn();
  const auto taken = std::chrono::nanoseconds(std::chrono::steady_clock::now() - before).count();
  const int least = least_.load(std::memory_order_relaxed);
  const int now = static_cast<int>(std::min<long long>(taken, least == 0 ? INT_MAX : least));
  least_.store(now, std::memory_order_relaxed);
  left_.store(is_needed() ? 0 : std::min(now / nanoseconds_a_call, calls_between_max), std::memory_order_relaxed);
}

}  // namespace tutti::mpi
