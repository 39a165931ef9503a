#include "engine/channel.h"

#include <algorithm>
#include <cstring>

#include "engine/operation.h"

namespace tutti {

Channel::Channel(Communicator& communicator, Kind kind, std::vector<Shared*> shared, std::uint64_t own_offset)
    : communicator_(communicator),
      kind_(kind),
      rank_(communicator.rank()),
      size_(communicator.size()),
      shared_(std::move(shared)),
      own_offset_(own_offset),
      slot_bytes_(communicator.slot_bytes()) {
  if (kind == Kind::blocking) workspace_ = std::make_unique<Workspace>(communicator.node(), size_, true);
}

Channel::~Channel() = default;

void Channel::published() const {
  communicator_.published();
}

bool Channel::find_room(std::uint64_t sequence_left) {
  std::uint64_t lowest = kind_ == Kind::pending ? completed_ : sequence_ - 1;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) lowest = std::min(lowest, standing(rank).completed.get());
  all_completed_ = std::max(all_completed_, lowest);
  return all_completed_ >= sequence_left;
}

std::uint64_t Channel::complete_prefix(std::uint64_t sequence) {
  // Nobody begins an operation before all have completed the one ring_slots before.
  later_ended_ |= std::uint64_t{1} << (sequence - completed_ - 1);
  while ((later_ended_ & 1) != 0) {
    later_ended_ >>= 1;
    ++completed_;
  }
  return completed_;
}

void Channel::begin_after(std::uint64_t sequence) {
  sequence_ = all_completed_ = completed_ = sequence;
  own_standing().completed.set(sequence);
}

bool Channel::exchange(const void* mine, std::size_t bytes, void* all) {
  constexpr std::uint16_t no_algorithm = 0xffff;
  Call call("making a communicator", no_algorithm, bytes);
  communicator_.current_collective = call.collective;
  try {
    Operation operation(*this, call, ring_slots);
    Post& post = operation.own().post;
    std::memcpy(post.payload, mine, bytes);
    operation.publish(post.flag, 1);
    bool complete_set = true;
    for (int rank = 0; rank < size_; ++rank) {
      const Post& theirs = operation.slot(rank).post;
      // Nobody leaves what has begun: a rank that has not begun says that it never will, one that has can be taken at its
      // word. So all find the same, whenever they look.
      const auto has_come = [&] { return theirs.flag.has(operation.stamp(1)); };
      const auto is_known = [&] { return has_come() || standing(rank).gone.get() != 0; };
      const sync::WaitReason reason{call.collective, nullptr, operation.sequence(), communicator_.node_rank(rank)};
      sync::wait(*communicator_.node().waiter, reason, is_known);
      if (has_come())
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(rank) * bytes, theirs.payload, bytes);
      else
        complete_set = false;
    }
    operation.complete();
    return complete_set;
  } catch (const Disagreement&) {
    return false;
  }
}

Traces Channel::traces() const {
  if (closed()) return Traces::anywhere();
  const bool nothing = sequence_ == 0 && standing(rank_).given.get() == 0;
  return nothing ? Traces::none() : Traces::of(std::min(sequence_ + 1, ring_slots));
}

}  // namespace tutti
