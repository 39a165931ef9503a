// The two sides of a partitioned message between ranks of a node: the sender marks partitions as it has them, and each is
// copied once, straight from one buffer to the other, by the thread that marks it or by the receiver.
//
// For each partition of the sender there is one flag, in the sender's arena. In the n-th start the thread that marks the
// partition sets it: to 2n if the receiver is to copy it, to 2n + 1 if it has done so itself. The receiver says, in its
// own arena, that it has started n times, how many partitions of this start it has copied, and when it has them all.
// Each flag has one writer at a time and only grows, so nothing is reset between starts.
//
//   the marking thread copies   if the receiver has started and its buffer is mapped here
//   the receiver copies         otherwise; and, where a partition is worth a flag's way, as long as it has nothing else to
//                               copy: then both copy at the same time
//   the sender is complete      when all are marked, and the receiver has all if something was left to it
//
// A sender is never a start ahead of what the receiver has left to copy, so a flag that is beyond 2n says that the
// partition is there. What cannot be mapped is copied by the kernel, or through the sender's arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/node.h"
#include "memory/region.h"
#include "partitioned/announcements.h"
#include "partitioned/lines.h"
#include "sync/flag.h"

namespace tutti::partitioned {

/// Who copies. Each sender by itself: the receiver finds it in the flags.
struct Policy {
  /// Partitions of at least so many bytes may be left to a receiver that could copy them meanwhile.
  std::size_t left_bytes_min = std::size_t{8} << 10;
  /// So many of these are left to it at a time.
  std::uint32_t left_at_once = 1;
  /// Messages of up to so many bytes go through the arena where only the kernel would reach the buffer.
  std::size_t staged_bytes_max = std::size_t{4} << 20;
};

/// Of one side.
struct Partitions {
  int count = 0;
  std::size_t bytes = 0;  ///< of each
  std::size_t all() const { return static_cast<std::size_t>(count) * bytes; }
};

/// What both sides have. Start and progress are called by one thread at a time.
class Side {
 public:
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  int peer() const { return peer_; }
  const Partitions& partitions() const { return partitions_; }

 protected:
  Side(Node& node, Announcements& announcements, int peer, const Envelope& envelope, Role role,
       const Partitions& partitions, std::size_t block_bytes);
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
  const int peer_;  ///< node rank of the other side
  const Partitions partitions_;
  Announcement mine_;

 private:
  std::atomic<std::uint64_t> starts_{0};
  memory::OperationClock::Since since_{0};  ///< with xpmem: what was attached is in use
};

class Sender : public Side {
 public:
  /// buffer: of all partitions, one behind the other. Does not wait. Throws std::runtime_error if the arena is full.
  Sender(Node& node, Announcements& announcements, int peer, const Envelope& envelope, const std::byte* buffer,
         const Partitions& partitions, const Policy& policy);
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
  bool deliver(std::size_t partition);

  const std::byte* buffer_;
  const Policy policy_;
  SenderLine* line_;
  sync::Flag* flags_;
  std::optional<std::size_t> staging_;  ///< its offset in the arena, once it was needed
  bool staged_ = false;                 ///< in this start
  std::size_t their_bytes_ = 0;
  std::atomic<const ReceiverLines*> theirs_{nullptr};
  std::atomic<int> marked_{0};
  std::atomic<std::uint32_t> left_{0};  ///< to the receiver
};

class Receiver : public Side {
 public:
  /// As for Sender. The other side may have other partitions.
  Receiver(Node& node, Announcements& announcements, int peer, const Envelope& envelope, std::byte* buffer,
           const Partitions& partitions);
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
  /// Whether partition `i` of the sender is there.
  bool is_there(std::size_t i) const;
  void copy(std::size_t i);

  std::byte* buffer_;
  ReceiverLines* lines_;
  Partitions sent_;  ///< as the sender has them
  std::atomic<const std::byte*> theirs_{nullptr};
  std::unique_ptr<std::atomic<std::uint64_t>[]> got_;  ///< by partition of the sender: in which start it came last
  std::vector<std::uint32_t> open_;                    ///< what has not come, in this start
  std::uint32_t copied_ = 0;
};

}  // namespace tutti::partitioned
