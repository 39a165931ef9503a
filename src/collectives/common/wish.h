// What a root with several readers does where ranks share cores, found out by the rank after it.
//
// The root itself cannot tell: what a program writes to a buffer that others have read takes much longer than to one
// that they have not, so that its next call begins later. Who waits for the root sees that. So a reader says how it
// should be, in a line that the root looks at when it begins, and times its own calls (Ways): the one that the root
// comes to last, for those before it are done early where the root stores, and would always have it do so. What the root
// does it says in its post: it may have seen a wish of before.
#pragma once

#include "base/ticks.h"
#include "engine/communicator.h"
#include "engine/ways.h"

namespace tutti {

/// They meet (meeting.h); each reader copies everything; or the root stores everything.
enum class RootsWay { meet, read, store, count };

inline bool may_wish(Communicator& communicator) {
  return communicator.size() > 2 && communicator.node().oversubscribed;
}

/// The reader that the root comes to last.
inline int wishing_rank(const Communicator& communicator, int root) {
  return (root + communicator.size() - 1) % communicator.size();
}

/// For the root.
inline RootsWay wished(Communicator& communicator, Learned what, int root, std::size_t bytes) {
  if (!may_wish(communicator)) return RootsWay::meet;
  return static_cast<RootsWay>(communicator.wished_way(wishing_rank(communicator, root), what, bytes));
}

/// For a reader: its wish, if it is the one to have one, and what comes of it, which counts where the root has seen it.
class Wish {
 public:
  /// root_can_store: to this rank.
  Wish(Communicator& communicator, Learned what, int root, std::size_t bytes, bool root_can_store) {
    if (!root_can_store || !may_wish(communicator) || communicator.rank() != wishing_rank(communicator, root)) return;
    ways_ = &communicator.ways(what, bytes);
    communicator.wish_way(what, bytes, ways_->next_of_run(static_cast<int>(RootsWay::count)));
  }
  /// All that this rank waits for has happened.
  void ends(RootsWay taken) const {
    if (ways_) ways_->took_in_run(static_cast<int>(taken), ticks() - begin_);
  }

 private:
  const std::uint64_t begin_ = ticks();
  Ways* ways_ = nullptr;
};

}  // namespace tutti
