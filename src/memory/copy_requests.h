// Memory of a rank that no peer can reach: pages that the program opens only when it touches them itself, a process
// that has closed itself to others since start-up, memory that the kernel does not copy. Whoever fails to reach it asks
// the owner, and that copies, with its own loads and stores, to or from a buffer of the asker's arena.
//
// The owner cannot leave an operation before its peers are done with its buffers. So it waits, and finds what it is
// asked in the slow part of its wait (sync::WaitOptions::serve). Who waits for an answer waits in the same way, and
// serves others meanwhile: two ranks may ask each other.
//
// In each rank's arena lie: what it asks, a line for each of its requests that are under way; one flag a peer, by which
// that says that it has asked this rank; its answers, a flag for each request of each peer. Each flag has one writer.
// The answer to a request is the stamp with which it was asked: the owner's rank and a number that grows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "memory/page_ranges.h"
#include "memory/region.h"
#include "sync/flag.h"
#include "sync/waiter.h"

namespace tutti::memory {

class CopyRequests {
 public:
  /// What a request moves at most.
  static constexpr std::size_t chunk_bytes = std::size_t{64} << 10;
  /// Bytes in each rank's arena, at a page boundary, zero before use.
  static std::size_t area_bytes(int ranks);

  /// areas: of all ranks of the node, as mapped here. room: the arena's capacity, which bounds what may be staged.
  CopyRequests(int self, std::vector<std::byte*> areas, std::size_t room);

  /// By which waits are done; to be set before anything is asked.
  sync::Waiter* waiter = nullptr;
  /// For tests: as if the kernel refused everything. Nothing is noted, then: each transfer is a request.
  bool kernel_refuses = false;

  /// At most chunk_bytes of the owner's memory, from or to local memory. error: why the kernel did not (errno).
  struct Chunk {
    Copy::Direction direction;
    std::uint64_t address;
    const std::byte* local;
    std::size_t bytes;
    int error;
  };
  /// What this rank has asked.
  struct Asked {
    std::size_t line;
    sync::Stamp stamp;
  };
  /// Asks the owner to copy. Nothing if this rank has asked for as much as it can at a time. waits: the caller does nothing
  /// else until it has the answer. One line is for such, since those who have the others may be in this very thread.
  std::optional<Asked> ask(int owner, const Chunk& chunk, bool waits);
  bool is_answered(int owner, const Asked& asked) const;
  /// Once it is: `to` gets what was read, unless it is null.
  void take(const Asked& asked, std::byte* to, std::size_t bytes);
  /// Nobody wants the answer any more, whether it has come or not.
  void give_up(int owner, const Asked& asked);

  /// Does what others have asked of this rank. True if there was something.
  bool serve();

  /// Whether this rank had to copy some of this memory for others, or all of it may be out of their reach: it is better
  /// staged. Not what is so large that staging it might fill the arena.
  bool were_needed_for(const void* address, std::size_t bytes) const noexcept {
    return served_.any() && bytes <= stageable_ && served_.touches(address, bytes);
  }
  /// Notes that for memory, or for all memory (begin 0, end UINTPTR_MAX).
  void note(std::uintptr_t begin, std::uintptr_t end) noexcept { served_.set(begin, end, 0); }
  /// Chunks that this rank has copied for others.
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  /// What a rank asks for at a time.
  static constexpr std::size_t lines = 4;
  struct Line;
  struct Area;
  Area area(int rank) const;
  std::optional<std::size_t> take_line(bool waits);
  void carry_out(int asker, std::size_t line);

  int self_;
  std::vector<std::byte*> areas_;
  std::size_t stageable_;
  PageRanges served_;
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;        ///< of the asking side: the three that follow
  bool taken_[lines] = {};  ///< lines that are in use
  struct GivenUp {
    int owner;
    Asked asked;
  };
  std::optional<GivenUp> given_up_[lines];  ///< of these, those whose answer nobody waits for
  std::vector<std::uint64_t> said_;         ///< by owner: how often this rank has said that it asked
  std::atomic<std::uint64_t> number_{0};    ///< of requests
  std::atomic<bool> serving_{false};        ///< by one thread at a time, which has the one that follows
  std::vector<sync::Stamp> seen_;           ///< by asker: what it had said when this rank looked last
};

}  // namespace tutti::memory
