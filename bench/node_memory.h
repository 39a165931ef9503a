// Memory of our own that all ranks of the node share, and what is done with it: starting together, and the floor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "clock.h"

namespace tutti::bench {

/// One word that one rank writes and others read, alone in its pair of cache lines.
struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
};

/// A memfd of rank 0 that all ranks have mapped, with nothing of any MPI in between.
class NodeMemory {
 public:
  /// Collective over MPI_COMM_WORLD. Null on every rank if the ranks are not all on one machine or cannot open each
  /// other's descriptors.
  static std::unique_ptr<NodeMemory> create(std::size_t payload_bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// The flag of a rank. Flags ranks()..ranks()+3 belong to whoever the user of this object says.
  Flag& flag(int index) { return flags_[index]; }
  char* payload() { return payload_; }
  std::size_t payload_bytes() const { return payload_bytes_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Processors that the ranks may run on, all masks together.
  int processors() const { return processors_; }

 private:
  NodeMemory() = default;

  Flag* flags_ = nullptr;
  char* payload_ = nullptr;
  std::size_t payload_bytes_ = 0;
  std::size_t mapped_bytes_ = 0;
  int rank_ = 0;
  int ranks_ = 1;
  int processors_ = 1;
};

/// Lets all ranks start a call at the same moment. By flags of its own: the host's barrier lets some go earlier than
/// others, and what a call of the host leaves in the caches, right before the one that counts, serves the host only.
class StartLine {
 public:
  /// One object for the whole program: what it has written in the memory goes on. memory: may be null; then, and with
  /// more ranks than processors, the host's barrier is used, for a rank that polls would keep another from its
  /// processor.
  StartLine(NodeMemory* memory, const Clock& clock);

  /// Collective over MPI_COMM_WORLD.
  void wait();
  /// There is no common start: more ranks than processors, or several nodes.
  bool crowded() const { return memory_ == nullptr; }

 private:
  NodeMemory* memory_;
  const Clock& clock_;
  bool by_ticks_;  ///< equal on all ranks: a counter tells the moment to ten nanoseconds, the system's clock to fifty
  std::uint64_t call_ = 0;
  std::uint64_t deadline_ = 0;
};

/// What no exchange between two ranks can beat on this machine, in microseconds; the medians of ranks 0 and 1.
class Floor {
 public:
  Floor(NodeMemory* memory, const Clock& clock);

  /// Collective over MPI_COMM_WORLD: the time from the store of a flag to its being seen by the other, half of the
  /// round trip of a ping-pong. Negative if it cannot be measured: one rank, one processor, or several nodes.
  double flag_us(int batches = 101);

  /// Collective over MPI_COMM_WORLD: rank 1 copies to its own memory what rank 0 just wrote in shared memory.
  double copy_us(std::size_t bytes);

 private:
  bool possible() const;
  double ping_pong_us(int batches);
  double copies_us(std::size_t bytes);
  double everybodys(double mine);

  NodeMemory* memory_;
  const Clock& clock_;
  std::uint64_t sequence_ = 0;
};

}  // namespace tutti::bench
