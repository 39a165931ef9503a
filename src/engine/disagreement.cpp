// What a channel does when its ranks turn out to be in different calls: who leaves which operation, and whether the
// calls that come after can match. None of it is on the path of a call that succeeds
// (docs/decisions/calls-that-disagree.md).
#include <algorithm>
#include <chrono>

#include "engine/operation.h"

namespace tutti {

namespace {

/// How each message ends that tells of a communicator that is closed.
constexpr const char* no_more = "all collectives of this communicator end with an error from now on";

}  // namespace

void Channel::given_to_host() {
  const std::uint64_t next = sequence_ + 1;
  Standing& own = own_standing();
  // Before the first of them: what those find that have yet to ask about an operation before. They read in the other
  // order: who finds this call counted finds the operation, and who finds that finds what had been before.
  if (own.before.get() != next) {
    GivenBefore& first = given_before_in(rank_, next);
    first.given.set(given_);
    first.operation.set(next);
    own.before.set(next);
  }
  own.given.set(++given_);
}

void Channel::refused_by_host() {
  own_standing().refused.set(own_standing().refused.get() + 1);
}

std::uint64_t Channel::given_before(int rank, std::uint64_t sequence) const {
  const std::uint64_t given = standing(rank).given.get();
  if (standing(rank).before.get() <= sequence) return given;
  for (std::uint64_t later = sequence + 1; later <= sequence + ring_slots; ++later)
    if (const GivenBefore& first = given_before_in(rank, later); first.operation.get() == later)
      return first.given.get();
  return given;
}

int Channel::out_of_order(std::uint64_t sequence) const {
  const std::uint64_t own = given_before(rank_, sequence);
  int most = rank_;
  std::uint64_t highest = own;
  bool differ = false;
  for (int rank = 0; rank < size_; ++rank) {
    if (!has_begun(rank, sequence)) continue;  // nor is it certain, then, that it has had all of them
    const std::uint64_t given = given_before(rank, sequence);
    differ = differ || given != own;
    if (given <= highest) continue;
    highest = given;
    most = rank;
  }
  return differ ? most : -1;
}

void Channel::judge_order(const Operation& operation) {
  const int rank = closed() ? -1 : out_of_order(operation.sequence());
  if (rank < 0) return;
  // Some hosts return no error when the program's handler has had it.
  const bool refused = standing(rank).refused.get() != 0;
  communicator_.node().log.warn(
      "%s: the MPI has %s a call of rank %d of the communicator that is none of the others': %s",
      operation.call().collective, refused ? "refused" : "had", rank, no_more);
  close(Standing::out_of_step);
}

void Channel::judge_counts(const Operation& operation, bool all_gone) {
  if (closed()) return;
  const std::uint64_t sequence = operation.sequence();
  // Who leaves a call in its first operation counts that one; who does not may count all.
  bool differ = sequence != operation.call().first;
  for (int rank = 0; rank < size_; ++rank) {
    if (!has_begun(rank, sequence)) continue;
    const std::uint64_t theirs = slot(rank, sequence).post.signature.get();
    if ((theirs & Signature::several) != 0) differ = differ || !all_gone || (theirs & Signature::left) == 0;
  }
  if (!differ) return;
  communicator_.node().log.warn("%s: some ranks of the communicator have left a long message in the middle: %s",
                                operation.call().collective, no_more);
  close(Standing::out_of_step);
}

std::string Channel::remark(std::uint64_t sequence, int peer) const {
  const int rank = communicator_.rank_of(peer);
  if (rank < 0) return {};
  // Of a rank that is late it is not certain yet that it has had fewer.
  if (given_before(rank, sequence) > given_before(rank_, sequence))
    return standing(rank).refused.get() != 0 ? "; the MPI has refused a call of the latter"
                                             : "; the MPI has had a call of the latter that is none of the former's";
  return standing(rank_).refused.get() != 0 ? "; the MPI has refused a call of the former" : "";
}

void Operation::look(std::uint64_t) {
  if (channel().closed()) leave();
  for (int rank = 0; rank < communicator().size(); ++rank) {
    // A call may be several operations; who left it in the first is not in the second.
    const std::uint64_t left_operation = channel().standing(rank).left.get();
    if (left_operation < call().first || left_operation >= sequence()) continue;
    communicator().node().log.warn("%s: rank %d of the communicator has left a long message in the middle: %s",
                                   call().collective, rank, no_more);
    channel().close(Standing::out_of_step);
    leave();
  }
  // Not yet begun: this rank waits for the others to leave an earlier operation.
  if (!has_begun()) return;
  for (int rank = 0; rank < communicator().size(); ++rank)
    if (channel().has_begun(rank, sequence())) check(rank);
}

void Operation::compare(int rank) {
  const std::uint64_t theirs = slot(rank).post.signature.get() & ~Signature::left;
  if (signature() == theirs) return;
  const auto bytes = [](std::uint64_t of) { return static_cast<unsigned long long>(of >> Signature::bytes_at); };
  const bool same_algorithm = (((signature() ^ theirs) >> Signature::algorithm_at) & 0xffff) == 0;
  communicator().node().log.warn(
      "%s of %llu bytes: rank %d of the communicator %s %llu bytes", call().collective, bytes(signature()), rank,
      same_algorithm ? "has" : "is in another collective, or has another size,", bytes(theirs));
  leave();
}

void Operation::leave() {
  call().truncated = false;  // the error of this call is another
  // Only who waits to begin an operation on a channel that is closed: it has never been in it.
  if (!has_begun()) {
    if (communicator().node().operations) communicator().ends_one();
    stay_out();
  }
  channel().judge_order(*this);
  own().post.signature.set(signature() | Signature::left);
  // Of pending operations others may be under way, in which nobody could tell any more who is in which.
  if (channel().kind() == Channel::Kind::pending && !channel().closed()) channel().close(Standing::out_of_step);
  if (channel().kind() == Channel::Kind::pending) channel().stay_out();
  channel().own_standing().left.set(sequence());
  complete();
  const bool all_gone = channel().wait_for_leavers(*this);
  channel().judge_order(*this);
  channel().judge_counts(*this, all_gone);
  if (channel().closed()) channel().stay_out();
  throw Disagreement();
}

void Operation::stay_out() {
  if (channel().kind() == Channel::Kind::blocking) --channel().sequence_;
  channel().stay_out();
}

bool Channel::wait_for_leavers(const Operation& operation) {
  // Peers may be reading this rank's buffers; they find out as this rank did, unless they never come.
  const auto deadline = sync::now() + std::chrono::seconds(1);
  const sync::WaitReason reason{operation.call().collective, nullptr, operation.sequence(),
                                communicator_.node_rank(rank_)};
  int gone = 0;
  sync::wait(*communicator_.node().waiter, reason, [&] {
    const auto is_gone = [&](int rank) {
      return standing(rank).completed.has(operation.sequence()) || standing(rank).left.has(operation.call().first) ||
             standing(rank).gone.get() != 0;
    };
    while (gone < size_ && is_gone(gone)) ++gone;
    return gone == size_ || sync::now() > deadline;
  });
  return gone == size_;
}

void Channel::close(std::uint64_t why) {
  own_standing().gone.set(why);
  for (Shared* const shared : shared_) shared->standing.closed.set(1);
  published();
}

void Channel::stay_out() {
  const std::optional<int> kind = failure();
  const std::uint64_t why = kind ? Standing::failed + static_cast<std::uint64_t>(*kind) : Standing::out_of_step;
  own_standing().gone.set(revoked() ? Standing::revoked : why);
  throw Disagreement();
}

std::optional<int> Channel::failure() const {
  if (!closed() || revoked()) return std::nullopt;
  for (int rank = 0; rank < size_; ++rank)
    if (const std::uint64_t why = standing(rank).gone.get(); why >= Standing::failed)
      return static_cast<int>(why - Standing::failed);
  return std::nullopt;
}

bool Channel::revoked() const {
  for (int rank = 0; rank < size_; ++rank)
    if (standing(rank).gone.get() == Standing::revoked) return true;
  return false;
}

}  // namespace tutti
