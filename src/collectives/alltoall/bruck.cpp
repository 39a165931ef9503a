// Alltoall, Bruck's: fewer steps, more bytes.
//
// Ranks are counted in the machine's order, not by their numbers. A block has to go i = (destination - rank) mod p ranks further; in step k it goes 2^k if bit k of i is set. Each rank
// has an area for every step, with the blocks that leave it in that step. Phase 1: it sorts its own blocks into the
// areas of their first steps. Phase 2: in step k it reads the area of rank - 2^k and puts each block into its own area
// of that block's next step, or, if that was its last one, into the receive buffer. Phase 3, only if the areas do not
// fit into the operation's data area: it waits until they have been read.
// Blocks are copied once a step, nothing is packed or rotated besides.
// Cost: ceil(log2 p) steps of one hop and about n p/2 bytes.
// Requires: equal blocks of at most TUTTI_EAGER_MAX bytes. CMA-aware, section IV.C.2.

#include <bit>

#include "collectives/algorithm.h"
#include "reduction/copy.h"

namespace tutti {

namespace {

/// Areas that are complete, k + 1 after that of step k.
constexpr FlagName complete{Line::ready, 0};
constexpr FlagSet bruck_flags = FlagSet::of(complete);

/// Where the areas of the steps lie, counted in blocks. Every area has room for a full one, 2^(steps - 1) blocks.
struct Areas {
  unsigned steps;

  explicit Areas(int ranks) : steps(static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks - 1)))) {}
  std::size_t blocks() const { return steps == 0 ? 0 : steps << (steps - 1); }
  /// Of the block that goes `distance` in all, in the area of step k: `distance` without bit k.
  std::size_t place(unsigned k, unsigned distance) const {
    const unsigned low = distance & ((1u << k) - 1);
    const unsigned high = (distance >> (k + 1)) << k;
    return (static_cast<std::size_t>(k) << (steps - 1)) + (high | low);
  }
};

Task bruck_body(Operation& operation, const AlltoallArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const topology::MachineOrder& order = communicator.order();
  const int self = communicator.rank();
  const int place = order.place(self);
  const auto distances = static_cast<unsigned>(ranks);
  const std::size_t bytes = arguments.send.bytes;
  const Areas areas(ranks);
  const Exposure mine = lend(operation, areas.blocks() * bytes);

  for (unsigned distance = 1; distance < distances; ++distance) {
    const auto first = static_cast<unsigned>(std::countr_zero(distance));
    const auto destination = static_cast<std::size_t>(order.rank_after(place, static_cast<int>(distance)));
    reduction::copy(mine.local + areas.place(first, distance) * bytes, arguments.send.at(destination), bytes);
  }
  post(operation, mine, {});
  if (areas.steps > 0) operation.publish(complete, 1);
  const auto own_index = static_cast<std::size_t>(self);
  reduction::copy(arguments.receive.at(own_index), arguments.send.at(own_index), bytes);

  for (unsigned k = 0; k < areas.steps; ++k) {
    const int rank = order.rank_after(place, -(1 << k));
    co_await operation.has(rank, complete, k + 1);
    const std::byte* theirs =
        communicator.peer(rank).pointer(posted_source(operation, rank), 0, areas.blocks() * bytes);
    for (unsigned distance = 1u << k; distance < distances; ++distance) {
      if ((distance >> k & 1) == 0) continue;
      const unsigned later = distance >> (k + 1);
      const auto origin = static_cast<std::size_t>(order.rank_after(place, -static_cast<int>(distance)));
      std::byte* destination =
          later == 0
              ? arguments.receive.at(origin)
              : mine.local + areas.place(k + 1 + static_cast<unsigned>(std::countr_zero(later)), distance) * bytes;
      reduction::copy(destination, theirs + areas.place(k, distance) * bytes, bytes);
      communicator.peer(rank).loaded(bytes);
    }
    operation.publish(complete, k + 2);
  }
  if (mine.in_the_ring) co_return;
  for (unsigned k = 0; k < areas.steps; ++k) {
    const int reader = order.rank_after(place, 1 << k);
    co_await operation.has(reader, complete, k + 2);
  }
}

}  // namespace

selection::Algorithm<AlltoallArguments> alltoall_bruck{
    "bruck",
    {"log2 p", "about (p/2) log2 p n", "CMA-aware IV.C.2"},
    {"equal blocks of at most TUTTI_EAGER_MAX bytes", [](const selection::Shape& shape) { return shape.small(); }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double steps = std::bit_width(static_cast<unsigned>(shape.ranks - 1));
      return selection::Cost{.hops = 2.0 + selection::step_with_another * selection::further_steps(steps),
                             .rounds = 1.0 + steps,
                             .copied_bytes = bytes,
                             .remote_bytes = steps * shape.ranks / 2 * bytes,
                             .slot_bytes = (shape.ranks - 1) * bytes,
                             .exposures = 1,
                             .across = selection::Across::all};
    },
    {bruck_body, bruck_flags}};

}  // namespace tutti
