// The two sides of a partitioned message between ranks of a node: the sender marks partitions as it has them, and each is
// copied once, straight from one buffer to the other, by the thread that marks it or by the receiver.
//
// For each partition of the sender there is one flag, in the sender's arena. In the n-th start the thread that marks the
// partition sets it: to 2n if the receiver is to copy it, to 2n + 1 if it has done so itself. The receiver says, in its
// own arena, how often it has started and how many partitions it has copied.
// Each flag has one writer at a time and only grows, so nothing is reset between starts.
//
//   the marking thread copies   if the receiver has started and its buffer is mapped here
//   the receiver copies         otherwise; and as long as it has little else to copy: then both copy at the same time
//   the sender is complete      when all are marked, and the receiver has copied what was left to it
//
// So a sender starts again only when nothing of its last start is left, and a flag that is beyond 2n says that the partition
// is there. What cannot be mapped is copied by the kernel, many partitions at once, or through the sender's arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/node.h"
#include "memory/transfers.h"
#include "partitioned/announcements.h"
#include "sync/flag.h"

namespace tutti::partitioned {

// What each side has in its arena.

/// The sender's; its flags follow, one a partition. A receiver that waits looks at this line alone most of the time, which
/// changes when there is something for it to do: the flags' lines stay with the threads that mark. What counts are the
/// flags.
struct alignas(sync::line_bytes) SenderLine {
  sync::Flag started;     ///< how often
  sync::Flag all_marked;  ///< in how many starts all were marked, as the sender has noticed
  /// Partitions that were left to the receiver, in all starts together. A hint in a start, from several threads, until all are
  /// marked: then the number.
  sync::Word<std::uint64_t> left;
  sync::Word<std::uint64_t> region;  ///< of what the receiver is to copy; published by each flag
};

/// The receiver's. The sender looks at each line for another reason, and the second one changes more often.
struct ReceiverLines {
  alignas(sync::line_bytes) sync::Flag started;  ///< how often
  sync::Word<std::uint64_t> region;              ///< of the buffer; published by `started`
  alignas(sync::line_bytes) sync::Flag copied;   ///< partitions that it has copied, in all starts together
};

/// Who copies. Each side may have another one: what the sender decides the receiver finds in the flags.
struct Policy {
  /// Shorter partitions are not left to a receiver that could copy meanwhile: before it sees them they are copied.
  std::size_t left_least = std::size_t{4} << 10;
  /// So many bytes are left to it at a time, or one partition if that is longer.
  std::size_t left_bytes = std::size_t{24} << 10;
  /// After each of so many bytes the receiver is told what was left to it, and says how much it has copied.
  std::size_t told_bytes = std::size_t{8} << 10;
  /// Where only the kernel reaches the buffer, messages go through the arena up to so many bytes, ...
  std::size_t staged_bytes_max = std::size_t{4} << 20;
  /// ... but those of so many: the kernel copies as many partitions in one call as are marked by then.
  std::size_t kernel_bytes_least = std::size_t{64} << 10;
  std::size_t kernel_bytes_most = std::size_t{256} << 10;
};

/// Of one side.
struct Partitions {
  int count = 0;
  std::size_t bytes = 0;  ///< of each
  std::size_t all() const { return static_cast<std::size_t>(count) * bytes; }
};

/// One side of it, as that knows it.
struct Message {
  int peer = 0;  ///< node rank of the other side
  Envelope envelope;
  Partitions partitions;
  Policy policy;
};

/// What both sides have. Start and progress are called by one thread at a time.
class Side {
 public:
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Tells the other side of this one, which counts from then on among those with its envelope: the last thing to be done
  /// when a message is made, since it cannot be undone. To be called once, before the first start. Throws
  /// std::runtime_error if the arena is full.
  void introduce();

 protected:
  Side(Node& node, Announcements& announcements, const Message& message, Role role, std::size_t block_bytes);
  ~Side() = default;
  /// more: what else is to be given back.
  void leave(std::optional<std::size_t> more);

  const memory::Peer& other() const { return node_.peers[static_cast<std::size_t>(peer_)]; }
  std::byte* block() const { return node_.arena->base() + mine_.block; }
  std::optional<Announcement> find() { return announcements_.find(peer_, mine_); }
  std::uint64_t starts() const { return starts_.load(std::memory_order_relaxed); }
  void begin();
  void end();
  /// The other side may sleep on a flag of this one.
  void wake() const {
    if (node_.waiter->sleepers_possible) node_.waiter->wake(&peer_, 1);
  }

  Node& node_;
  Announcements& announcements_;
  const int peer_;
  const Partitions partitions_;
  const Policy policy_;
  Announcement mine_;

 private:
  bool is_introduced_ = false;
  std::atomic<std::uint64_t> starts_{0};
  memory::OperationClock::Since since_{0};  ///< with xpmem: what was attached is in use
};

class Sender : public Side {
 public:
  /// buffer: of all partitions, one behind the other. Throws std::runtime_error if the arena is full.
  Sender(Node& node, Announcements& announcements, const Message& message, const std::byte* buffer);
  ~Sender();

  void start();
  /// The partition is there to be sent, from 0 on. Threads may mark at the same time, each its own partitions. False if it
  /// was marked already since the last start.
  bool mark(int partition);
  bool is_marked(int partition) const { return flags_[partition].get() >= 2 * starts(); }
  /// Whether all is over: the buffer is the program's again.
  bool progress();

 private:
  bool meet();
  bool is_better_staged() const;
  bool deliver(std::size_t partition);
  void leave_one();

  const std::byte* buffer_;
  SenderLine* line_;
  sync::Flag* flags_;
  std::optional<std::size_t> staging_;  ///< its offset in the arena, once it was needed
  bool staged_ = false;                 ///< in this start
  std::size_t their_bytes_ = 0;
  std::atomic<const ReceiverLines*> theirs_{nullptr};
  std::uint64_t left_before_ = 0;       ///< to the receiver, in all starts before this one
  std::atomic<std::uint64_t> left_{0};  ///< and in this one, too; threads may miss each other's
  int seen_ = 0;                        ///< the first so many partitions are marked, as progress() has found
  std::uint64_t seen_left_ = 0;         ///< of these, so many are left to the receiver
};

class Receiver : public Side {
 public:
  /// As for Sender. The other side may have other partitions.
  Receiver(Node& node, Announcements& announcements, const Message& message, std::byte* buffer);
  ~Receiver();

  void start();
  /// Copies what there is to copy. True once all is there.
  bool progress();
  /// Whether all of this partition is there. Any thread may ask.
  bool has_arrived(int partition) const;
  /// Once all is there: how much was sent, which may be more than there is room for.
  std::size_t sent_bytes() const { return sent_.all(); }

 private:
  bool meet();
  const SenderLine& line() const {
    return *reinterpret_cast<const SenderLine*>(theirs_.load(std::memory_order_relaxed));
  }
  const sync::Flag& flag(std::size_t i) const {
    return reinterpret_cast<const sync::Flag*>(theirs_.load(std::memory_order_relaxed) + sizeof(SenderLine))[i];
  }
  /// Whether partition `i` of the sender is there.
  bool is_there(std::size_t i) const { return flag(i).get() > 2 * starts() || got_[i].load() == starts(); }
  /// Whether what it copies is there. If not, its owner has to help: nothing else is copied meanwhile.
  bool copy(std::size_t first, std::size_t count);
  void has_copied();
  void copy_what_is_left();
  bool is_time_to_look();
  bool finish();

  std::byte* buffer_;
  ReceiverLines* lines_;
  Partitions sent_;  ///< as the sender has them
  std::atomic<const std::byte*> theirs_{nullptr};
  std::unique_ptr<std::atomic<std::uint64_t>[]>
      got_;                          ///< by partition of the sender: in which start it was copied last
  std::vector<std::uint32_t> open_;  ///< what was not seen to be there; from the first copy of a start on
  bool is_open_known_ = false;
  std::uint64_t looked_ = 0;  ///< at the flags, in ticks
  /// The program has been told that a partition has arrived: it may have been the last one.
  mutable std::atomic<bool> is_asked_{false};
  std::uint64_t copied_ = 0;  ///< in all starts together
  memory::Transfers transfers_;
  std::size_t first_ = 0, count_ = 0;  ///< partitions that are being copied
};

}  // namespace tutti::partitioned
