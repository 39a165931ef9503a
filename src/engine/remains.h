// What a rank leaves of a communicator that it has freed, until all ranks have freed it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/node.h"

namespace tutti {

/// How a communicator is made: every member reserves its part and a row, tells the others where, then builds.
struct CommunicatorLayout {
  int rank = 0;
  std::uint64_t identity = 0;          ///< for messages; equal on all members
  std::vector<int> node_ranks;         ///< node-local rank of each member
  std::vector<std::uint64_t> offsets;  ///< of each member's Shared in its arena
  /// Of each member's row in its arena (memory::Rows), in which the others say that they have parted. Empty: nobody
  /// parts before the processes end.
  std::vector<std::uint64_t> rows;
};

/// How much the ranks of a communicator may have written in what they share: nothing, the slots of the first operations,
/// or whatever there is. A byte of a row; 0 is for a rank that has not parted.
class Traces {
 public:
  static constexpr Traces none() { return Traces(1); }
  /// operations: ring_slots at most.
  static constexpr Traces of(std::uint64_t operations) { return Traces(static_cast<std::uint8_t>(1 + operations)); }
  static constexpr Traces anywhere() { return Traces(255); }

  constexpr std::uint8_t byte() const { return byte_; }

 private:
  constexpr explicit Traces(std::uint8_t byte) : byte_(byte) {}
  std::uint8_t byte_;
};

class Remains {
 public:
  using Row = sync::Word<std::uint8_t>;

  /// Tells the other ranks: it is the last thing that this rank does with what they share. opened: this rank has made its
  /// own part accessible. staging: what else lies in its arena for them.
  Remains(Node& node, const CommunicatorLayout& layout, Traces traces, bool opened, std::vector<std::size_t> staging);

  /// Every rank has parted.
  bool unused() const;
  /// To be called once they have.
  void give_back() const;

  /// Where `owner`'s row is mapped here. Throws std::runtime_error if the system refuses, which it does not after it has
  /// been asked for once.
  static Row* row_of(const Node& node, const CommunicatorLayout& layout, int owner);

 private:
  Node* node_;
  std::size_t part_;
  std::size_t row_;
  int ranks_;
  bool opened_;
  std::vector<std::size_t> staging_;
};

/// What this rank has freed, and others not yet. Any thread may call it.
class LeftBehind {
 public:
  void add(Remains remains);
  /// Gives back what all have freed. failures: ends after so many others were looked at, other ones each time.
  void look(std::size_t failures = SIZE_MAX);
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

 private:
  std::mutex mutex_;
  std::vector<Remains> all_;
  std::size_t next_ = 0;
  std::atomic<std::size_t> count_{0};
};

}  // namespace tutti
