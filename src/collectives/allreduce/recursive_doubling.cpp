// Allreduce of small messages by recursive doubling through slots, for any number of ranks.
//
// Of p ranks, 2^s is the largest power of two and e are left. Phase 1: of the first 2e ranks each odd one leaves its
// contribution in its slot, and the even one before it combines that with its own. Phase 2, step i = 0 to s - 1, among
// the other 2^s: each leaves its partial result in its slot, and combines that of the one at place v xor 2^i with its
// own. Phase 3: the e even ones leave the result in their slots for their neighbours.
// Ranks are counted in the machine's order where the operator commutes; else by their numbers, so that partial results
// are of consecutive ranks. They are combined in this order, by both partners alike: all get the same bits, and operators
// need not commute.
// Cost: log2 p flag hops, two more if p is no power of two, and data after each; n log2 p bytes written, read and
// combined by each rank.
// Requires: n <= TUTTI_EAGER_MAX, and 1 + s partial results in a data area. The steps are those of Thakur, Rabenseifner
// and Gropp (Optimization of collective communication operations in MPICH, 2005). Along groups one rank fetches what
// all members have (XHC, section V.D.2, names that as what small messages take); here nobody fetches from more than
// s + 1.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/sequence.h"

namespace tutti {

namespace {

/// Partial results that a rank has left in its slot.
constexpr FlagName left_there{Line::ready, 0};
constexpr FlagSet allreduce_recursive_doubling_flags = FlagSet::of(left_there);

/// What a rank leaves in its slot at most: what it has before each step, and the result.
std::size_t partials_of(const Folded& folded) {
  return static_cast<std::size_t>(folded.steps) + 1;
}

/// From one partial result to the next. No line is of two: it would be taken back while it is read.
std::size_t stride_of(std::size_t bytes) {
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

/// The partial results of all ranks in their slots, numbered by the steps that take them.
class Partials {
 public:
  Partials(Operation& operation, std::size_t bytes) : operation_(operation), bytes_(bytes) {}

  void leave(int index, const std::byte* data) {
    copy_bytes(of(operation_.communicator().rank(), index), data, bytes_);
    operation_.publish(left_there, index + 1);
  }
  /// co_await: the rank has left it.
  auto left(int rank, int index) { return operation_.has(rank, left_there, index + 1); }
  /// What it has left, which this rank is about to take.
  const std::byte* taken(int rank, int index) const {
    operation_.communicator().peer(rank).loaded(bytes_);
    return of(rank, index);
  }

 private:
  std::byte* of(int rank, int index) const {
    return operation_.data(rank) + static_cast<std::size_t>(index) * stride_of(bytes_);
  }
  Operation& operation_;
  std::size_t bytes_;
};

Task recursive_doubling_body(Operation& operation, const AllreduceArguments& arguments) {
  const Folded folded(operation.communicator().size());
  const Sequence sequence(operation.communicator(), *arguments.combiner);
  const int self = sequence.place(operation.communicator().rank());
  Partials partials(operation, arguments.bytes());
  if (folded.hands_over(self)) {
    const int neighbor = sequence.rank(self - 1);
    partials.leave(0, arguments.send);
    co_await partials.left(neighbor, folded.steps);
    copy_bytes(arguments.receive, partials.taken(neighbor, folded.steps), arguments.bytes());
    co_return;
  }

  const std::byte* have = arguments.send;
  const auto combine = [&](const void* left, const void* right) {
    const void* operands[] = {left, right};
    (*arguments.combiner)(arguments.receive, operands, 2, arguments.count);
    have = arguments.receive;
  };
  if (folded.takes_over(self)) {
    const int neighbor = sequence.rank(self + 1);
    co_await partials.left(neighbor, 0);
    combine(have, partials.taken(neighbor, 0));
  }
  const int place = folded.place_of(self);
  for (int step = 0; step < folded.steps; ++step) {
    const int other = place ^ (1 << step);
    const int rank = sequence.rank(folded.rank_at(other));
    partials.leave(step, have);
    co_await partials.left(rank, step);
    if (other < place)
      combine(partials.taken(rank, step), have);
    else
      combine(have, partials.taken(rank, step));
  }
  if (folded.takes_over(self)) partials.leave(folded.steps, have);
}

bool fits_the_slot(const selection::Shape& shape) {
  return shape.small() && partials_of(Folded(shape.ranks)) * stride_of(shape.bytes) <= shape.slot_bytes;
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_recursive_doubling{
    "recursive-doubling",
    {"log2 p, 2 more if p is no power of 2", "n log2 p in, as much read",
     "Thakur et al., IJHPCA 2005; through slots: ours"},
    {"at most TUTTI_EAGER_MAX bytes, and 1 + log2 p times as much in a slot", fits_the_slot},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const Folded folded(shape.ranks);
      const double steps = folded.steps + (folded.extra > 0 ? 2.0 : 0.0);
      return selection::Cost{
          // Flag and data are two lines, fetched one after the other; later partners have not been looked at yet.
          .hops = 2 + selection::step_with_another * selection::further_steps(steps),
          .rounds = 2 * steps,
          .remote_bytes = steps * bytes,
          .slot_bytes = steps * bytes,
          .reduced_bytes = 2 * steps * bytes,
          // Neighbours are partners in the first steps, those far away in the last.
          .across = across_neighbors(shape)};
    },
    {recursive_doubling_body, allreduce_recursive_doubling_flags}};

}  // namespace tutti
