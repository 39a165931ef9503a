#include "meeting.h"

#include <sched.h>

#include <algorithm>

namespace tutti::bench {

Meeting::Meeting(NodeMemory* memory) : memory_(memory) {
  if (memory_) crowded_ = memory_->ranks() > memory_->processors();
}

std::uint64_t Meeting::wait() {
  // A rank may come to the next meeting while others have not left this one, but not to the one after that: two flags a
  // rank take turns. A flag belongs to this meeting if it is later than all of the one before.
  const int turn = static_cast<int>(number_++ % 2);
  memory_->meeting_flag(memory_->rank(), turn)
      .value.store(std::max(shared_now_ns(), last_ + 1), std::memory_order_release);
  std::uint64_t latest = 0;
  for (int rank = 0; rank < memory_->ranks(); ++rank) {
    const auto& flag = memory_->meeting_flag(rank, turn).value;
    std::uint64_t came = 0;
    while ((came = flag.load(std::memory_order_acquire)) <= last_)
      crowded_ ? static_cast<void>(sched_yield()) : relax();
    latest = std::max(latest, came);
  }
  return last_ = latest;
}

}  // namespace tutti::bench
