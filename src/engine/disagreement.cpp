// What a communicator does when its ranks turn out to be in different calls: who leaves which operation, and whether the
// calls that come after can match. None of it is on the path of a call that succeeds
// (docs/decisions/calls-that-disagree.md).
#include <algorithm>
#include <chrono>

#include "engine/communicator.h"

namespace tutti {

namespace {

/// How each message ends that tells of a communicator that is closed.
constexpr const char* no_more = "all collectives of this communicator end with an error from now on";

constexpr std::uint64_t sequence_of(sync::Stamp stamp) {
  return stamp >> sync::progress_bits;
}
constexpr std::uint64_t progress_of(sync::Stamp stamp) {
  return stamp & sync::progress_max;
}

}  // namespace

void Communicator::given_to_host() {
  const std::uint64_t next = sequence_ + 1;
  // Before the first of them: what those find that have yet to ask about an operation before.
  if (sequence_of(own_left(Left::given).get()) != next)
    slot(rank_, next).done.flag[FlagUse::given].set(sync::stamp(next, given_));
  given_ = progress_of(given_ + 1);
  own_left(Left::given).set(sync::stamp(next, given_));
}

void Communicator::refused_by_host() {
  own_left(Left::refused).set(own_left(Left::refused).get() + 1);
}

std::uint64_t Communicator::given_before(int rank, std::uint64_t sequence) const {
  const sync::Stamp last = left(rank, Left::given).get();
  if (sequence_of(last) <= sequence) return progress_of(last);
  for (std::uint64_t later = sequence + 1; later <= sequence + ring_slots; ++later) {
    const sync::Stamp before = slot(rank, later).done.flag[FlagUse::given].get();
    if (sequence_of(before) == later) return progress_of(before);
  }
  return progress_of(last);
}

int Communicator::out_of_order(std::uint64_t sequence) {
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

void Communicator::judge_order(std::uint64_t sequence) {
  const int rank = closed() ? -1 : out_of_order(sequence);
  if (rank < 0) return;
  // Some hosts return no error when the program's handler has had it.
  const bool refused = left(rank, Left::refused).get() != 0;
  node_.log.warn("%s: the MPI has %s a call of rank %d of the communicator that is none of the others': %s",
                 current_collective, refused ? "refused" : "had", rank, no_more);
  close(Left::out_of_step);
}

void Communicator::judge_counts(std::uint64_t sequence, bool all_gone) {
  if (closed()) return;
  // Who leaves a call in its first operation counts that one; who does not may count all.
  bool differ = sequence != call_begin_;
  for (int rank = 0; rank < size_; ++rank) {
    if (!has_begun(rank, sequence)) continue;
    const std::uint64_t theirs = slot(rank, sequence).post.signature.get();
    if ((theirs & signature_several) != 0) differ = differ || !all_gone || (theirs & signature_left) == 0;
  }
  if (!differ) return;
  node_.log.warn("%s: some ranks of the communicator have left a long message in the middle: %s", current_collective,
                 no_more);
  close(Left::out_of_step);
}

void Communicator::look(std::uint64_t sequence) {
  if (closed()) leave(sequence);
  for (int rank = 0; rank < size_; ++rank) {
    // A call may be several operations; who left it in the first is not in the second.
    const std::uint64_t left_operation = sequence_of(left(rank, Left::operation).get());
    if (left_operation < call_begin_ || left_operation >= sequence) continue;
    node_.log.warn("%s: rank %d of the communicator has left a long message in the middle: %s", current_collective,
                   rank, no_more);
    close(Left::out_of_step);
    leave(sequence);
  }
  // Not yet begun: this rank waits for the others to leave an earlier operation.
  if (slot(rank_, sequence).post.signature.get() != signature(sequence)) return;
  for (int rank = 0; rank < size_; ++rank)
    if (has_begun(rank, sequence)) check(rank, sequence);
}

std::string Communicator::remark(std::uint64_t sequence, int peer) const {
  const auto found = std::find(layout_.node_ranks.begin(), layout_.node_ranks.end(), peer);
  if (found == layout_.node_ranks.end()) return {};
  const auto rank = static_cast<int>(found - layout_.node_ranks.begin());
  // Of a rank that is late it is not certain yet that it has had fewer.
  if (given_before(rank, sequence) > given_before(rank_, sequence))
    return left(rank, Left::refused).get() != 0 ? "; the MPI has refused a call of the latter"
                                                : "; the MPI has had a call of the latter that is none of the former's";
  return left(rank_, Left::refused).get() != 0 ? "; the MPI has refused a call of the former" : "";
}

void Communicator::compare(int rank, std::uint64_t sequence) {
  const std::uint64_t ours = signature(sequence);
  const std::uint64_t theirs = slot(rank, sequence).post.signature.get() & ~signature_left;
  if (ours == theirs) return;
  const auto bytes = [](std::uint64_t of) { return static_cast<unsigned long long>(of >> signature_bytes_at); };
  const bool same_algorithm = (((ours ^ theirs) >> signature_algorithm_at) & 0xffff) == 0;
  node_.log.warn("%s of %llu bytes: rank %d of the communicator %s %llu bytes", current_collective, bytes(ours), rank,
                 same_algorithm ? "has" : "is in another collective, or has another size,", bytes(theirs));
  leave(sequence);
}

void Communicator::leave(std::uint64_t sequence) {
  truncated = false;  // the error of this call is another
  sync::Flag& mine = slot(rank_, sequence).post.signature;
  if (mine.get() != signature(sequence)) {
    // Only who waits to begin an operation on a communicator that is closed: it has never been in it.
    if (node_.operations && --running_ == 0) running_since_.store(0, std::memory_order_release);
    --sequence_;
    stay_out();
  }
  judge_order(sequence);
  mine.set(signature(sequence) | signature_left);
  own_left(Left::operation).set(sync::stamp(sequence));
  complete(sequence);
  const bool all_gone = wait_for_leavers(sequence);
  judge_order(sequence);
  judge_counts(sequence, all_gone);
  if (closed()) stay_out();
  throw Disagreement();
}

bool Communicator::wait_for_leavers(std::uint64_t sequence) {
  // Peers may be reading this rank's buffers; they find out as this rank did, unless they never come.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const sync::WaitReason reason{current_collective, nullptr, sequence, node_rank(rank_)};
  int gone = 0;
  sync::wait(*node_.waiter, reason, [&] {
    const auto is_gone = [&](int rank) {
      return left(rank, 0).has(sync::stamp(sequence)) || left(rank, Left::operation).has(sync::stamp(call_begin_)) ||
             left(rank, Left::communicator).get() != 0;
    };
    while (gone < size_ && is_gone(gone)) ++gone;
    return gone == size_ || std::chrono::steady_clock::now() > deadline;
  });
  return gone == size_;
}

void Communicator::close(std::uint64_t why) {
  own_left(Left::communicator).set(why);
  for (Shared* const shared : shared_) shared->completed.flag[Left::closed].set(1);
  published();
}

void Communicator::stay_out() {
  own_left(Left::communicator).set(revoked() ? Left::revoked : Left::out_of_step);
  throw Disagreement();
}

bool Communicator::revoked() const {
  for (int rank = 0; rank < size_; ++rank)
    if (left(rank, Left::communicator).get() == Left::revoked) return true;
  return false;
}

}  // namespace tutti
