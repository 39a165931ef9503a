#include "engine/task.h"

#include <algorithm>

namespace tutti {

void* Operation::allocate_frame(std::size_t bytes) {
  bytes = (bytes + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
  if (frame_used_ + bytes <= frame_bytes) {
    void* frame = frames_ + frame_used_;
    frame_used_ += bytes;
    return frame;
  }
  return more_frames_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
}

bool Operation::can_progress() const {
  return std::any_of(parked_.begin(), parked_.end(), [](const Parked& role) { return role.came(role.awaiter); });
}

bool Operation::progress() {
  bool moved = false;
  for (std::size_t i = 0; i < parked_.size();) {
    if (!parked_[i].came(parked_[i].awaiter)) {
      ++i;
      continue;
    }
    const auto handle = parked_[i].handle;
    parked_[i] = parked_.back();
    parked_.pop_back();
    handle.resume();  // may park again
    moved = true;
  }
  return moved;
}

void Operation::both(Task first, Task second) {
  ++roles_;
  first.resume();
  second.resume();
  while (!(first.finished() && second.finished())) {
    // The other role may wait for what this one would have done.
    if (first.finished()) first.rethrow();
    if (second.finished()) second.rethrow();
    // Nothing of ours can move: wait for any of the parked flags.
    if (progress()) continue;
    sync::WaitReason reason = reason_to_wait(communicator_.rank());
    // Each of the peers in turn is the one that is waited for: it may be the last that never comes.
    std::size_t polls = 0;
    sync::wait(*communicator_.node().waiter, reason, [&] {
      if (!parked_.empty()) reason.peer = communicator_.node_rank(*parked_[polls++ % parked_.size()].peer);
      return can_progress();
    });
  }
  --roles_;
  first.rethrow();
  second.rethrow();
}

}  // namespace tutti
