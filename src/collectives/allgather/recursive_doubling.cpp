// Allgather by recursive doubling, any number of ranks.
//
// Let q be the greatest power of two that is not above p. Phase 1: rank r < p - q reads the block of rank r + q. Phase
// 2: in step k = 0, 1, ... each of the first q ranks reads from rank XOR 2^k all that this one has: the blocks of the
// 2^k ranks around it and of those that joined them in phase 1. Phase 3: rank r + q reads everything from rank r.
// Ranks are counted in the machine's order, not by their numbers: neighbours exchange few blocks first.
// Cost: log2 q steps (two more if p is not q), 2^k n bytes in step k; neighbouring blocks in one copy.
// Requires: nothing. CMA-aware, section V.A.3; where p is no power of two the ranks above fold, instead of
// further steps within subtrees.

#include <bit>

#include "collectives/algorithm.h"
#include "collectives/common/buffers/gathered.h"

namespace tutti {

namespace {

/// Steps announced: 1 - own block; 2 - phase 1; 3 + k - step k of phase 2. The folded ranks: 1, then last + 1.
Task recursive_doubling_body(Operation& operation, const AllgatherArguments& arguments) {
  const int ranks = operation.communicator().size();
  Gathered gathered(operation, arguments);
  const int self = gathered.place();
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const int folded = ranks - power;
  const int steps = std::countr_zero(static_cast<unsigned>(power));
  const int last = 2 + steps;

  if (self >= power) {
    const int partner = self - power;
    co_await gathered.reached(partner, last);
    gathered.fetch(partner, 0, self);
    gathered.fetch(partner, self + 1, ranks);
    co_await operation.copied();
    gathered.announce(last + 1);
    gathered.collect();
    co_return;
  }
  if (self < folded) {
    co_await gathered.reached(self + power, 1);
    gathered.fetch(self + power, self + power, self + power + 1);
  }
  co_await operation.copied();
  gathered.announce(2);
  for (int k = 0; k < steps; ++k) {
    const int length = 1 << k;
    const int partner = self ^ length;
    const int begin = partner & ~(length - 1);
    co_await gathered.reached(partner, 2 + k);
    gathered.fetch(partner, begin, begin + length);
    if (begin < folded) gathered.fetch(partner, begin + power, std::min(begin + length, folded) + power);
    co_await operation.copied();
    gathered.announce(3 + k);
  }
  gathered.collect();
  if (!gathered.read_in_place()) co_return;
  for (int k = 0; k < steps; ++k) co_await gathered.reached(self ^ (1 << k), 3 + k);
  if (self < folded) co_await gathered.reached(self + power, last + 1);
}

}  // namespace

selection::Algorithm<AllgatherArguments> allgather_recursive_doubling{
    "recursive-doubling",
    {"log2 p + 1, and 2 if p is no power of two", "(p-1) n, for the slowest rank twice that if p is no power of two",
     "CMA-aware V.A.3"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      const auto ranks = static_cast<unsigned>(shape.ranks);
      const bool fold = !std::has_single_bit(ranks);
      const double steps = std::bit_width(ranks) - 1 + (fold ? 2 : 0);
      // The folded ranks wait for the others, then read all that there is.
      const double read = (fold ? 2.0 : 1.0) * (shape.ranks - 1);
      return selection::Cost{.hops = 3.0 + selection::step_with_another * selection::further_steps(steps),
                             .rounds = 2.0 + steps,
                             .copied_bytes = reach == selection::Reach::staged ? bytes : 0.0,
                             .remote_bytes = read * bytes,
                             .exchanged_bytes = read * bytes,
                             // The own block goes where others have read the one before.
                             .slot_bytes = reach == selection::Reach::staged ? shape.ranks * bytes : bytes,
                             .left_bytes = (shape.ranks - 2) * bytes,
                             .exposures = 2,
                             .startups = (fold ? 2.0 : 1.0) * steps,
                             .by_kernel = reach == selection::Reach::kernel,
                             .across = selection::Across::all};
    },
    {recursive_doubling_body, gathered_flags}};

}  // namespace tutti
