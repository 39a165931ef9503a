#include "engine/operation.h"

namespace tutti {

void Operation::wait_for_room(std::uint64_t in_flight) {
  const std::uint64_t left = sequence() - in_flight;
  for (int rank = 0; rank < communicator().size(); ++rank) {
    if (rank == communicator().rank()) continue;
    const sync::Flag& completed = channel().standing(rank).completed;
    if (!completed.has(left)) wait(rank, [&] { return completed.has(left); });
  }
  channel().find_room(left);
}

bool Operation::can_progress() const {
  for (Parked* role = parked_; role; role = role->next)
    if (role->came(*role)) return true;
  return false;
}

bool Operation::resume_parked() {
  bool moved = false;
  for (Parked** at = &parked_; *at;) {
    Parked& parked = **at;
    if (!parked.came(parked)) {
      at = &parked.next;
      continue;
    }
    *at = parked.next;
    parked.role.resume();
    moved = true;
    // It may have parked again, and others may be no more.
    at = &parked_;
  }
  return moved;
}

void Operation::wait_for_parked() {
  sync::WaitReason reason{call().collective, this, sequence(), communicator().node_rank(communicator().rank())};
  // Each of the peers in turn is the one that is waited for: it may be the last that never comes.
  const Parked* next = parked_;
  // To ask one may begin copies that another waits for, too: what could go on once is tried.
  bool came = false;
  sync::wait(*communicator().node().waiter, reason, [&] {
    if (next) reason.peer = communicator().node_rank(next->peer);
    next = next && next->next ? next->next : parked_;
    return came = came || can_progress();
  });
}

bool Operation::Both::await_ready() {
  ++operation_.roles_;
  first_.resume();
  second_.resume();
  if (operation_.channel().kind() == Channel::Kind::pending) return over();
  while (!over())
    if (!operation_.resume_parked()) operation_.wait_for_parked();
  return true;
}

void Operation::Both::await_resume() {
  --operation_.roles_;
  // If one has failed, nobody resumes the other.
  if (first_.failed() || second_.failed()) operation_.parked_ = nullptr;
  if (first_.finished()) first_.rethrow();
  second_.rethrow();
}

bool PendingOperation::try_to_begin() {
  if (channel().closed()) stay_out();
  if (!channel().has_room(sequence(), in_flight_)) return false;
  if (communicator().node().operations) communicator().begins_one();
  begin();
  return true;
}

bool PendingOperation::progress() {
  try {
    // Whatever it waits for: what it has asked of owners keeps others of this rank from asking until the answer is taken.
    peers_copied();
    resume_parked();
    if (body_->finished()) {
      body_->rethrow();
      complete();
      return true;
    }
    if (++polls_ % polls_between_looks == 0) look(sequence());
    return false;
  } catch (...) {
    forget_parked();
    body_.reset();  // from here on nothing that it has posted comes into memory of others
    complete();
    throw;
  }
}

}  // namespace tutti
