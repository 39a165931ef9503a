// Allgather around a ring (Ring-Neighbor-j).
//
// Phase 1: every rank exposes its receive buffer and puts its own block there. Phase 2: in step i it reads from rank -
// j the block that arrived there in the step before, that of rank - i j, as soon as that rank's flag says so. Phase 3:
// it waits until rank + j has read the last one.
// Ranks are counted in the machine's order: neighbours of the ring sit near each other, however they are numbered.
// Cost: p - 1 steps of one hop and n bytes, one reader on each rank. The greater part of the copies stays within a
// cache or socket if j is chosen by how the ranks are placed.
// Requires: gcd(p, j) = 1, else the steps of rank - j do not come by all ranks. CMA-aware, section V.A.1.

#include <numeric>

#include "collectives/algorithm.h"
#include "collectives/common/buffers/gathered.h"

namespace tutti {

namespace {

Task ring_neighbor_body(Operation& operation, const AllgatherArguments& arguments) {
  const int ranks = operation.communicator().size();
  Gathered gathered(operation, arguments);
  const int self = gathered.place();
  const int j = arguments.parameter % ranks;
  const int before = (self - j + ranks) % ranks;
  const int after = (self + j) % ranks;
  int block = self;
  for (int step = 1; step < ranks; ++step) {
    block = (block - j + ranks) % ranks;
    co_await gathered.reached(before, step);
    gathered.fetch(before, block, block + 1);
    co_await operation.copied();
    gathered.announce(step + 1);
  }
  gathered.collect();
  if (gathered.read_in_place()) co_await gathered.reached(after, ranks);
}

/// The odd ones that are coprime to the ranks: 1 first.
int distance_candidate(const selection::Shape& shape, int index) {
  for (int j = 1; j == 1 || j < shape.ranks; j += 2)
    if (std::gcd(shape.ranks, j) == 1 && index-- == 0) return j;
  return 0;
}

}  // namespace

selection::Algorithm<AllgatherArguments> allgather_ring_neighbor{
    "ring-neighbor",
    {"p", "(p-1) n, each block from rank - j", "CMA-aware V.A.1"},
    {"j without a common divisor with the number of ranks",
     [](const selection::Shape& shape) { return std::gcd(shape.ranks, shape.parameter) == 1; }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      const double steps = shape.ranks - 1;
      return selection::Cost{.hops = 3.0 + selection::step_with_known * selection::further_steps(steps),
                             .rounds = 2.0 + steps,
                             .copied_bytes = reach == selection::Reach::staged ? bytes : 0.0,
                             .remote_bytes = steps * bytes,
                             .exchanged_bytes = steps * bytes,
                             // The own block goes where others have read the one before.
                             .slot_bytes = reach == selection::Reach::staged ? shape.ranks * bytes : bytes,
                             .left_bytes = (steps - 1) * bytes,
                             .exposures = 2,
                             .startups = steps,
                             .by_kernel = reach == selection::Reach::kernel,
                             // Neighbours are near each other.
                             .crossing = static_cast<double>(std::min(shape.parameter, shape.ranks - shape.parameter))};
    },
    {ring_neighbor_body, gathered_flags},
    {},
    {"j", distance_candidate}};

}  // namespace tutti
