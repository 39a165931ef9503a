// Of two ranks of which one has the bytes and the other wants them: whether they meet in the middle (meeting.h), or the
// one that wants them reads everything. While the bytes are in a core's private caches, storing into that core's memory
// may take several times as long as reading from it, so that half of the work takes longer than the whole.
//
// The root decides, says so before or in its post, and times what comes of it, from when both are there until both have
// finished (TwoWays).
#pragma once

#include "base/ticks.h"
#include "engine/communicator.h"

namespace tutti {

class MeetOrRead {
 public:
  /// For this call at the root. With other than two ranks they meet.
  MeetOrRead(Communicator& communicator, Learned what, std::size_t bytes)
      : ways_(communicator.size() == 2 ? &communicator.ways(what, bytes) : nullptr),
        way_(ways_ ? ways_->next() : 0),
        times_(ways_ && ways_->wants_time(way_)) {}

  bool meet() const { return way_ == 0; }
  /// Both are there, and could do either.
  void begins() {
    if (times_) begin_ = ticks();
  }
  /// Both have finished. Nothing is learned where they had no choice.
  void ends() const {
    if (begin_ != 0)
      ways_->took(way_, ticks() - begin_);
    else if (ways_ && !times_)
      ways_->untimed();
  }

 private:
  TwoWays* ways_;
  int way_;
  bool times_;
  std::uint64_t begin_ = 0;  ///< 0: not begun
};

}  // namespace tutti
