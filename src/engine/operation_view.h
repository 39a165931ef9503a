// What an operation does without waiting for anybody: its slots, its flags, its data, and what it works with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "engine/communicator.h"

namespace tutti {

/// What peers do with a buffer that is exposed: read it, or (also) store to it. Each has a staging buffer of its own.
enum class Side { source = 0, destination = 1 };

/// A value, to be copied: what nobody has the address of, the compiler keeps in registers, where an operation whose
/// address a wait might have kept is read from memory again after every flag. A small call has no time for that.
class OperationView {
 public:
  /// Of an operation that has yet to begin.
  OperationView(Channel& channel, Call& call, Workspace& workspace, std::uint64_t sequence)
      : communicator_(&channel.communicator()),
        channel_(&channel),
        call_(&call),
        workspace_(&workspace),
        shared_(channel.shared_.data()),
        sequence_(sequence),
        slot_at_(offsetof(Shared, slots) + place_in_ring(sequence, ring_slots) * sizeof(Slot)) {}

  Communicator& communicator() const { return *communicator_; }
  Channel& channel() const { return *channel_; }
  Call& call() const { return *call_; }
  std::uint64_t sequence() const { return sequence_; }
  sync::Stamp stamp(Progress progress = 0) const { return stamp_of(sequence_, progress); }
  Slot& slot(int rank) const {
    return *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(shared_[rank]) + slot_at_);
  }
  Slot& own() const { return slot(communicator_->rank()); }
  /// The data area of a rank; this rank's as a region that peers can reach.
  std::byte* data(int rank) const { return channel_->data(rank, sequence_); }
  std::byte* own_data() const { return data(communicator_->rank()); }
  memory::Region data_region() const { return channel_->data_region(sequence_); }

  /// Tells that this rank is in it, and in which call; there has to be room (Channel::has_room).
  void begin() {
    signature_ =
        call_->signature | (sequence_ & Signature::lap) | (sequence_ != call_->first ? Signature::continues : 0);
    own().post.signature.set(signature_);
  }
  bool has_begun() const { return signature_ != 0; }
  /// Sets a flag of this rank and wakes whoever sleeps on it.
  void publish(sync::Flag& flag, Progress progress = 0) const {
    flag.set(stamp(progress));
    communicator_->published();
  }
  void publish(FlagName flag, Progress progress = 0) const { publish(own().flags[flag], progress); }
  void publish_done(Progress progress = 0) const { publish(done_flag, progress); }
  /// How far a flag has come that has come to this operation.
  std::uint64_t progress_of(const sync::Flag& flag) const { return flag.get() - stamp(); }
  /// All members were seen in this operation.
  void seen_all() const { channel_->seen_all(sequence_); }
  /// Whether `rank`, of which a flag has been seen, is in the same call.
  bool agrees(int rank) const { return slot(rank).post.signature.get() == signature_; }
  /// How much of a block is copied of which a peer sent `sent` bytes to where there is room for `room`. Notes if
  /// something is left out, which the caller of the collective then reports.
  std::size_t fitting(std::size_t sent, std::size_t room) const {
    if (sent <= room) [[likely]]
      return sent;
    call_->truncated = true;
    return room;
  }

  /// How peers can reach own memory in this call without a copy; none if they cannot, or a copy is to be lent.
  memory::Kind reach(const void* address, std::size_t bytes, Side side) const {
    const memory::Kind kind = communicator_->node().reach(address, bytes);
    const bool lent = kind == memory::Kind::cma ? call_->lending != Lending::as_it_is
                                                : tutti::lends_copies(call_->moving) && side == Side::source;
    if (!lent) return kind;
    call_->lends_copies = true;
    return memory::Kind::none;
  }
  /// The region of memory that they reach so.
  memory::Region reachable(const void* address, std::size_t bytes, Side side) const {
    return reach(address, bytes, side) == memory::Kind::none ? memory::Region{}
                                                             : communicator_->node().reachable(address, bytes);
  }

  /// A peer's memory. What this rank copies from or to it is there after co_await operation.copied().
  memory::PeerTransfers peer(int rank) const { return {communicator_->peer(rank), workspace_->transfers()}; }
  /// Goes on with that; whether all of it is there.
  bool peers_copied() const { return workspace_->transfers().go_on(); }

  // What it works with; see Workspace.
  std::byte* scratch(std::size_t bytes) const { return workspace_->scratch(bytes); }
  const void** sources() const { return workspace_->sources(); }
  std::byte** destinations() const { return workspace_->destinations(); }
  std::byte* staging(int which, std::size_t bytes) const { return workspace_->staging(which, bytes); }
  void* allocate(std::size_t bytes) const { return workspace_->allocate(bytes); }
  template <class T>
  T* array(std::size_t count) const {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = static_cast<T*>(allocate(count * sizeof(T)));
    for (std::size_t i = 0; i < count; ++i) new (first + i) T();
    return first;
  }

  /// This rank has finished the operation.
  void complete() const;
  /// The data area of the next operation, which is likely to be of the same size, is written in lines that others have
  /// read, too. Bounded: a hint for more lines than a core can have under way would cost more than it saves.
  void expect_data(std::size_t bytes) const {
    const std::byte* area = channel_->data(communicator_->rank(), sequence_ + 1);
    const std::size_t end = bytes < expected_bytes_max ? bytes : expected_bytes_max;
    for (std::size_t at = 0; at < end; at += cache_line_bytes) sync::prefetch_to_write(area + at);
  }

 protected:
  Workspace& workspace() const { return *workspace_; }
  std::uint64_t signature() const { return signature_; }

 private:
  Communicator* communicator_;
  Channel* channel_;
  Call* call_;
  Workspace* workspace_;
  Shared* const* shared_;  ///< the channel's
  std::uint64_t sequence_;
  std::size_t slot_at_;          ///< in what a rank shares
  std::uint64_t signature_ = 0;  ///< 0: it has not begun
};

inline void OperationView::complete() const {
  if (communicator_->node().operations) [[unlikely]]
    communicator_->ends_one();
  channel_->complete(sequence_);
  communicator_->published();
  // The post of the next operation is written in lines that others have read: taking them back now takes that off the
  // next call.
  const std::byte* post =
      reinterpret_cast<const std::byte*>(&channel_->slot(communicator_->rank(), sequence_ + 1).post);
  sync::prefetch_to_write(post);
  sync::prefetch_to_write(post + cache_line_bytes);
  if (communicator_->node().viewed && communicator_->node().viewed->is_too_much()) [[unlikely]]
    communicator_->node().viewed->give_up();
}

}  // namespace tutti
