// A ring of operation slots that the ranks of a communicator share, and how far each of them has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/call.h"
#include "engine/node.h"
#include "engine/remains.h"
#include "engine/shared.h"
#include "engine/workspace.h"
#include "sync/flag.h"

namespace tutti {

class Communicator;
class Operation;
class OperationView;

/// A communicator has two: one for blocking operations, which come one after the other, and one for pending ones
/// (nonblocking and persistent), of which any number may have been started and which end in any order. MPI never matches
/// the two kinds, so no rank has to be told which.
class Channel {
 public:
  enum class Kind { blocking, pending };

  /// shared: of each rank; own_offset: of this rank's in its arena.
  Channel(Communicator& communicator, Kind kind, std::vector<Shared*> shared, std::uint64_t own_offset);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  Communicator& communicator() const { return communicator_; }
  Kind kind() const { return kind_; }
  /// The operation that was begun last or, pending, reserved last.
  std::uint64_t sequence() const { return sequence_; }

  Slot& slot(int rank, std::uint64_t sequence) const {
    return shared_[static_cast<std::size_t>(rank)]->slots[place_in_ring(sequence, ring_slots)];
  }
  /// The data area of a slot, and as a region that peers can reach.
  std::byte* data(int rank, std::uint64_t sequence) const {
    return reinterpret_cast<std::byte*>(shared_[static_cast<std::size_t>(rank)] + 1) +
           place_in_ring(sequence, data_areas) * slot_bytes_;
  }
  memory::Region data_region(std::uint64_t sequence) const {
    return {memory::Kind::arena, own_offset_ + sizeof(Shared) + place_in_ring(sequence, data_areas) * slot_bytes_};
  }

  /// The numbers of so many pending operations, which are begun later, in any order: the first of them.
  std::uint64_t reserve(std::uint64_t operations) {
    sequence_ += operations;
    return sequence_ - operations + 1;
  }
  /// Whether all ranks have left the operation `in_flight` before this one. That frees this rank's data area (data_areas)
  /// or at least its slot (ring_slots).
  bool has_room(std::uint64_t sequence, std::uint64_t in_flight) {
    return sequence <= in_flight || all_completed_ >= sequence - in_flight || find_room(sequence - in_flight);
  }
  /// All members were seen in operation `sequence`, hence have finished the ones before. Of pending ones that does not
  /// follow.
  void seen_all(std::uint64_t sequence) {
    if (sequence - 1 > all_completed_ && kind_ == Kind::blocking) all_completed_ = sequence - 1;
  }
  /// To be called after a flag was set: wakes ranks that sleep.
  void published() const;

  /// Of blocking operations, which have it in turn.
  Workspace& workspace() { return *workspace_; }

  /// To be called before the host does a call of this rank, and after it has ended that with an error. On ranks that are
  /// in step the host has done as many calls between the same operations.
  void given_to_host();
  void refused_by_host();
  /// This rank will come to no operation any more, whatever the others are in; their calls end with Disagreement.
  void revoke() { close(Standing::revoked); }
  /// Some rank has revoked it, as far as this one knows.
  bool revoked() const;
  /// The same because of a message to another node. kind: network::Failure.
  void fail(int kind) { close(Standing::failed + static_cast<std::uint64_t>(kind)); }
  /// Of what kind the failure was because of which it is closed; nothing if that was not why.
  std::optional<int> failure() const;
  bool closed() const { return standing(rank_).closed.get() != 0; }
  /// Part of Operation::remark().
  std::string remark(std::uint64_t sequence, int peer) const;

  /// Tells the other ranks something of this rank's own: `bytes` at `mine`, at most Post::inline_bytes, and takes theirs
  /// into `all`, in the order of the ranks. False, on all ranks, if some come to no operation any more.
  bool exchange(const void* mine, std::size_t bytes, void* all);

  /// For tests, before the first operation, on all ranks alike: what comes next has the number after this one. A multiple
  /// of twice ring_slots, so that signatures come as in the beginning.
  void begin_after(std::uint64_t sequence);

  /// What this rank may have written, in its own part or in those of others.
  Traces traces() const;

 private:
  friend class Operation;
  friend class OperationView;

  const Standing& standing(int rank) const { return shared_[static_cast<std::size_t>(rank)]->standing; }
  Standing& own_standing() { return shared_[static_cast<std::size_t>(rank_)]->standing; }
  GivenBefore& given_before_in(int rank, std::uint64_t sequence) const {
    return shared_[static_cast<std::size_t>(rank)]->given_before[place_in_ring(sequence, ring_slots)];
  }
  /// What `rank` has set in its slot, as long as that is not used again.
  bool has_begun(int rank, std::uint64_t sequence) const {
    return (slot(rank, sequence).post.signature.get() & Signature::lap) == (sequence & Signature::lap);
  }
  bool find_room(std::uint64_t sequence_left);
  void complete(std::uint64_t sequence) {
    if (kind_ == Kind::pending) [[unlikely]]
      sequence = complete_prefix(sequence);
    own_standing().completed.set(sequence);
  }
  /// Of operations that end in any order: the last one up to which all have ended.
  std::uint64_t complete_prefix(std::uint64_t sequence);

  /// Calls of `rank` that the host had done before operation `sequence`, which is not more than a lap ago.
  std::uint64_t given_before(int rank, std::uint64_t sequence) const;
  /// Who has had more calls done by the host than others that are in the operation; -1 if nobody.
  int out_of_order(std::uint64_t sequence) const;
  /// Both are for a rank that leaves an operation and close the channel if calls after it would not match: because the
  /// host has had more calls of some rank; because others may count more operations for this call than this rank.
  void judge_order(const Operation& operation);
  void judge_counts(const Operation& operation, bool all_gone);
  /// Waits until the others have left the operation, too, a second at most; whether they have.
  bool wait_for_leavers(const Operation& operation);
  /// Tells all ranks that no collective can be carried out any more.
  void close(std::uint64_t why);
  /// Ends a call on a channel that is closed.
  [[noreturn]] void stay_out();

  Communicator& communicator_;
  const Kind kind_;
  const int rank_;
  const int size_;
  std::vector<Shared*> shared_;
  std::uint64_t own_offset_;
  std::size_t slot_bytes_;
  std::uint64_t sequence_ = 0;
  std::uint64_t all_completed_ = 0;
  std::uint64_t completed_ = 0;    ///< of this rank, pending: all up to here
  std::uint64_t later_ended_ = 0;  ///< and of the 64 after that these, a bit each
  std::uint64_t given_ = 0;        ///< calls that the host has done
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace tutti
