// Alltoall, pairwise, in steps.
//
// Ranks are counted in the machine's order, so that in each step as much crosses its boundaries however they are numbered.
// Phase 1: every rank exposes its send buffer and copies its own block. Phase 2: in step i = 1 .. p - 1 it reads its
// block from rank XOR i if p is a power of two, from rank - i if not, once the reader of the step before has finished
// there: never do two read from one rank at a time. Phase 3: it waits until its own blocks have been read.
// Cost: p - 1 steps of one hop and n bytes, one reader on each rank.
// Requires: nothing. CMA-aware, section IV.C.1; the paper leaves the steps to themselves, here flags keep them apart.

#include <bit>

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// Steps in which a rank has read.
constexpr FlagName steps_read{Line::ready, 0};
constexpr FlagSet pairwise_flags = FlagSet::of(steps_read);

/// Who reads from whom in a step.
class Pairs {
 public:
  explicit Pairs(const topology::MachineOrder& order)
      : order_(order), power_(std::has_single_bit(static_cast<unsigned>(order.size()))) {}

  int source(int reader, int step) const { return partner(reader, step, -step); }
  int reader(int source, int step) const { return partner(source, step, step); }

 private:
  int partner(int rank, int bits, int distance) const {
    const int place = order_.place(rank);
    return power_ ? order_.rank(place ^ bits) : order_.rank_after(place, distance);
  }
  const topology::MachineOrder& order_;
  bool power_;
};

Task pairwise_body(Operation& operation, const AlltoallArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const Pairs pairs(communicator.order());
  const ExposedBlocks mine = post_blocks(operation, {.blocks = arguments.send,
                                                     .count = static_cast<std::size_t>(ranks),
                                                     .side = Side::source,
                                                     .skip = self,
                                                     .sent = arguments.sent});
  keep_own_block(communicator, arguments);

  for (int step = 1; step < ranks; ++step) {
    const int rank = pairs.source(self, step);
    if (step > 1) {
      const int previous = pairs.reader(rank, step - 1);
      co_await operation.has(previous, steps_read, step - 1);
    }
    if (const Block to = arguments.receive[rank]; to.bytes > 0) {
      co_await operation.posted(rank);
      pull(operation, rank, self, to, arguments.store, arguments.received[rank]);
      co_await operation.copied();
    }
    operation.publish(steps_read, step);
  }
  if (mine.exposure.in_the_ring) co_return;
  for (int step = 1; step < ranks; ++step) {
    const int rank = pairs.reader(self, step);
    if (arguments.send[rank].bytes > 0) co_await operation.has(rank, steps_read, step);
  }
}

}  // namespace

selection::Algorithm<AlltoallArguments> alltoall_pairwise{
    "pairwise",
    {"p", "(p-1) n read, one reader on each rank at a time", "CMA-aware IV.C.1"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double steps = shape.ranks - 1;
      return selection::Cost{.hops = 3.0 + selection::step_with_known * selection::further_steps(steps),
                             .rounds = 1.0 + steps,
                             .copied_bytes = bytes,
                             .remote_bytes = steps * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? steps * bytes : 0.0,
                             .left_bytes = steps * bytes,
                             .exposures = 2,
                             .startups = steps,
                             .across = selection::Across::all};
    },
    {pairwise_body, pairwise_flags},
    {.takes_spread = true}};

}  // namespace tutti
