// Of two ranks of which one has the bytes and the other wants them: whether they meet in the middle (meeting.h), or the
// one that wants them reads everything; and if they meet, whether what is stored goes past the caches (store_ways.h).
// While the bytes are in a core's private caches, storing into that core's memory may take several times as long as
// reading from it, so that half of the work takes longer than the whole. Stored past its caches, all of it may take
// less time than both halves, of which the one that is read holds up the other, where the two share no cache.
//
// One of the two decides, says so in its post, or nothing if it reads everything and the other can tell, and times what
// comes of it, from when both are there until it has finished (Ways). It has to be the one that finishes last: the
// other takes a flag hop too little for some of the ways, and prefers them.
#pragma once

#include "collectives/common/store_ways.h"
#include "engine/communicator.h"

namespace tutti {

class MeetOrRead {
 public:
  /// For this call at the rank that decides. With other than two ranks they meet. store: of what is stored into another
  /// rank's memory, if that may be done otherwise. may_be_apart: there is a way of storing so without a meeting.
  MeetOrRead(Communicator& communicator, Learned what, std::size_t bytes, memory::Store store = memory::Store::cached,
             bool may_be_apart = false)
      : trial_(communicator.size() == 2 ? &communicator.ways(what, bytes) : nullptr,
               ways_of(store) + (may_be_apart && store == memory::Store::streaming_to_peers ? 1 : 0)) {}

  bool meet() const { return trial_.way() != way_reads; }
  /// Who does what is settled: they meet where their shares do.
  bool apart() const { return trial_.way() == way_apart; }
  /// They meet, and what is stored goes through the caches, whatever was asked for.
  bool through_caches() const { return trial_.way() == way_through_caches; }
  /// Both are there, and could do either.
  void begins() { trial_.begins(); }
  /// This rank reads everything, and the other one waits until it has: where this is timed, until it answers.
  bool wants_answer() {
    if (meet() || !trial_.is_timed()) return false;
    trial_.ends_at_other();
    return true;
  }
  /// All that this rank waits for has happened.
  void ends() const { trial_.ends(); }

 private:
  Trial trial_;
};

}  // namespace tutti
