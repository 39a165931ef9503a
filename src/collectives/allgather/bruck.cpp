// Allgather, Bruck's.
//
// Phase 1: every rank exposes its receive buffer and puts its own block there. Phase 2: in step k = 0, 1, ... it has
// the blocks of the m = 2^k ranks from its own on, and reads from rank + m those that follow: m of them, in the last
// step p - m. Phase 3: it waits until those that read from it have done so.
// Blocks are read straight to where they belong, so the rotation at the end that the algorithm is known for is not
// needed. Ranks are counted in the machine's order, not by their numbers.
// Cost: ceil(log2 p) steps of one hop, (p - 1) n bytes in one or two copies a step.
// Requires: nothing. CMA-aware, section V.A.4.

#include <bit>

#include "collectives/algorithm.h"
#include "collectives/common/buffers/gathered.h"

namespace tutti {

namespace {

Task bruck_body(Operation& operation, const AllgatherArguments& arguments) {
  const int ranks = operation.communicator().size();
  Gathered gathered(operation, arguments);
  const int self = gathered.place();
  int step = 1;
  for (int have = 1; have < ranks; have *= 2, ++step) {
    const int from = (self + have) % ranks;
    const int end = from + std::min(have, ranks - have);
    co_await gathered.reached(from, step);
    gathered.fetch(from, from, std::min(end, ranks));
    if (end > ranks) gathered.fetch(from, 0, end - ranks);
    co_await operation.copied();
    gathered.announce(step + 1);
  }
  gathered.collect();
  if (!gathered.read_in_place()) co_return;
  step = 2;
  for (int have = 1; have < ranks; have *= 2, ++step) co_await gathered.reached((self - have + ranks) % ranks, step);
}

}  // namespace

selection::Algorithm<AllgatherArguments> allgather_bruck{
    "bruck",
    {"log2 p + 1", "(p-1) n, each block straight to its place", "CMA-aware V.A.4"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      const double steps = std::bit_width(static_cast<unsigned>(shape.ranks - 1));
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 3.0 + selection::step_with_another * selection::further_steps(steps),
                             .rounds = 2.0 + steps,
                             .copied_bytes = reach == selection::Reach::staged ? bytes : 0.0,
                             .remote_bytes = others * bytes,
                             .exchanged_bytes = others * bytes,
                             // The own block goes where others have read the one before.
                             .slot_bytes = reach == selection::Reach::staged ? shape.ranks * bytes : bytes,
                             .left_bytes = (others - 1) * bytes,
                             .exposures = 2,
                             .startups = 2 * steps,
                             .by_kernel = reach == selection::Reach::kernel,
                             .across = selection::Across::all};
    },
    {bruck_body, gathered_flags}};

}  // namespace tutti
