// Two ranks that copy one message at once: the one from its front, the other, who helps, from its back, until they
// meet. How fast each is depends on who holds which cache lines and on what else it has to do, and is not known before.
//
//   0 ........ front | piece 0 | piece 1 | ... | back ........ bytes
//
// Up to `front` the message is the first rank's and from `back` on the helper's. The pieces between are claimed one by
// one: a rank says in its flag how many it takes, then looks at the other's flag. Both accesses are sequentially
// consistent, so that of two ranks that claim the same piece at least one sees it. The helper then gives way. The first
// rank, which cannot tell whether the helper has seen it too, waits for the helper's last word: how many pieces that
// has copied.
//
// The helper has a flag for its claims and one for its last word for each rank that it helps. The first rank says in
// its done_flag how many pieces it has copied, without waiting for the last word, so that often both leave at the same
// time.
#pragma once

#include <algorithm>

#include "engine/operation.h"

namespace tutti {

/// Who copies what of a message of `bytes`.
class Meeting {
 public:
  /// Shares of a message between a rank and the one that helps it, in sixteenths, if the helper has no one else to
  /// help.
  struct Shares {
    unsigned front;  ///< at least this is the first rank's
    unsigned back;   ///< what begins here is the helper's
  };

  /// Nobody helps: the whole message is the first rank's.
  explicit Meeting(std::size_t bytes) : bytes_(bytes), front_(bytes), back_(bytes), helped_(false) {}

  /// Of `ranks` ranks one helps all others, one after the other.
  Meeting(std::size_t bytes, int ranks, Shares shares) : bytes_(bytes) {
    front_ = begins(shares.front, ranks);
    back_ = begins(shares.back, ranks);
    // Too little to be worth two looks at the other's flag; or more to help than there are flags, so that the helper's
    // last word may be gone before it is read.
    if (back_ - front_ < 2 * grain_bytes || ranks - 1 > static_cast<int>(last_words.count()))
      front_ = back_ = begins((shares.front + shares.back) / 2, ranks);
    const std::size_t contested = back_ - front_;
    piece_ = std::max(grain_bytes, (contested / pieces_max + grain_bytes - 1) & ~(grain_bytes - 1));
    pieces_ = (contested + piece_ - 1) / piece_;
  }

  std::size_t front() const { return front_; }
  bool is_helped() const { return helped_; }
  /// For costs: what the first rank copies if both are fast alike.
  std::size_t usual_part() const { return (front_ + back_) / 2; }

  /// The helper's part; `copy` copies the bytes from its first to its second argument. `distance` from the helper to
  /// the rank `first`, from 1 on. When all is copied (operation.copied()), what is returned is to be said: say_kept().
  template <class Copy>
  std::uint64_t help(Operation& operation, int first, int distance, const Copy& copy) const {
    copy(back_, bytes_);
    sync::Flag& claimed = operation.own().flags[of(claims_for, distance)];
    std::uint64_t kept = 0;
    for (; kept < pieces_; ++kept) {
      claimed.set_ordered(said(operation, distance, kept + 1));
      if (beyond(operation.slot(first).flags[claims], operation.stamp()) + kept + 1 > pieces_) break;
      const std::size_t begin = front_ + (pieces_ - kept - 1) * piece_;
      copy(begin, std::min(begin + piece_, back_));
    }
    return kept;
  }
  /// The helper's last word.
  static void say_kept(Operation& operation, int distance, std::uint64_t kept) {
    operation.publish(of(last_words, distance), progress(distance) + kept);
  }

  /// For the helper after `help`: how far the first rank must be done until that has copied the rest.
  std::uint64_t awaited(Operation& operation, int distance) const {
    return left_by_helper(operation, operation.own(), distance);
  }

  /// The first rank's part between front and back, until both have finished; at once if nobody helps. What is before
  /// `front` is copied already.
  template <class Copy>
  static Task meet(Operation& operation, Meeting meeting, int helper, int distance, Copy copy) {
    const Slot& theirs = operation.slot(helper);
    if (!meeting.helped_) {
      // As many as anybody may wait for.
      operation.publish_done(pieces_max);
      co_return;
    }
    const auto copy_pieces = [&](std::uint64_t from, std::uint64_t to) {
      copy(meeting.front_ + from * meeting.piece_, std::min(meeting.front_ + to * meeting.piece_, meeting.back_));
    };
    std::uint64_t copied = 0;
    for (; copied < meeting.pieces_; ++copied) {
      operation.own().flags[claims].set_ordered(operation.stamp(copied + 1));
      const std::uint64_t claimed = beyond(theirs.flags[of(claims_for, distance)], said(operation, distance, 0));
      if (claimed + copied + 1 > meeting.pieces_) break;
      copy_pieces(copied, copied + 1);
    }
    co_await operation.copied();
    operation.publish_done(copied);
    co_await operation.has(helper, of(last_words, distance), progress(distance));
    const std::uint64_t left = meeting.left_by_helper(operation, theirs, distance);
    if (copied < left) {
      copy_pieces(copied, left);
      co_await operation.copied();
      operation.publish_done(left);
    }
  }

 private:
  static constexpr std::uint64_t pieces_max = 4;
  static constexpr FlagName claims{Line::ready, 1};  ///< of the first rank
  // Of the helper, for the first ranks from distance 1 on.
  static constexpr FlagRow claims_for{Line::reduced, 0, flags_in_line - 1};
  static constexpr FlagRow last_words{Line::done, 1, flags_in_line - 1};

  static constexpr FlagName of(const FlagRow& row, int distance) {
    return row[(distance - 1) % static_cast<int>(row.count())];
  }
  /// Where the helper's flags begin to count for the rank at this distance.
  static constexpr std::uint64_t progress(int distance) {
    return static_cast<std::uint64_t>(distance) * (pieces_max + 1);
  }
  static sync::Stamp said(const Operation& operation, int distance, std::uint64_t pieces) {
    return operation.stamp(progress(distance) + pieces);
  }
  /// What of a flag is beyond `from`; none if the flag has not come so far.
  static std::uint64_t beyond(const sync::Flag& flag, sync::Stamp from) {
    const sync::Stamp value = flag.get_ordered();
    return value >= from ? value - from : 0;
  }

  /// The pieces that the helper, whose slot this is, has left to the first rank.
  std::uint64_t left_by_helper(const Operation& operation, const Slot& helpers, int distance) const {
    return pieces_ - std::min(pieces_, beyond(helpers.flags[of(last_words, distance)], said(operation, distance, 0)));
  }

  /// Where a share begins, counted from the front, on a page.
  std::size_t begins(unsigned sixteenths, int ranks) const {
    const std::size_t rest = bytes_ / 16 * (16 - sixteenths) * 2 / static_cast<std::size_t>(ranks);
    return (bytes_ - std::min(bytes_, rest)) & ~(grain_bytes - 1);
  }

  std::size_t bytes_;
  std::size_t front_;
  std::size_t back_;
  std::size_t piece_ = grain_bytes;
  std::uint64_t pieces_ = 0;
  bool helped_ = true;

 public:
  static constexpr FlagSet flags = FlagSet::of(claims, claims_for, last_words, done_flag);
};

}  // namespace tutti
