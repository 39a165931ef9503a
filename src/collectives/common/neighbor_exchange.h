// The exchange with the neighbours of a topology: each rank reads its blocks where they are, or they are stored where
// they belong.
//
// Phase 1: every rank that has somebody to send to posts its blocks: small ones packed, the smallest of them in the
// flag's own line; those that peers cannot reach, and others that are small together, copied into the operation's data
// area; others where they are. Unless all ranks read, who has long blocks, or room for one, says whether it reads, or
// where its blocks are to be stored. Phase 2: who has long blocks asks that of its destinations, and stores for those
// who want it. Phase 3: each rank takes the blocks of its sources, those first that are there already, or waits for
// those who store; if it has not said how, for want of room, it tells those who ask that it reads. Phase 4: who has
// exposed its own memory waits until its destinations have taken what is theirs.
//
// How a rank sends is its own decision, and how it receives: read by its neighbours from what it has said, since degrees
// and, for the forms with a v or w, sizes are known to few. A rank waits for its own neighbours only.
#pragma once

#include "collectives/algorithm.h"

namespace tutti {

/// How many blocks a rank has stored for those that want that.
inline constexpr FlagName stored{Line::done, 1};
inline constexpr FlagSet neighbor_flags = FlagSet::of(stored, done_flag);

/// How ranks get long blocks. stored: where peers can reach the receiver's memory and it has at most Offer::blocks_max
/// sources; it reads otherwise.
enum class Taken { read, stored };

Task exchange_with_neighbors(Operation& operation, const NeighborArguments& arguments, Taken taken);
/// For Forms.
std::uint64_t neighbors_in_flight(const Communicator& communicator, const NeighborArguments& arguments);

/// After a cost of the model: the largest degree that is likely. It is not among what all ranks know; in a grid of two
/// dimensions it is 4.
inline double likely_degree(const selection::Shape& shape) {
  return std::min(4, shape.ranks - 1);
}

/// What the exchange costs where all blocks are read.
inline selection::Cost neighbor_cost(const selection::Shape& shape) {
  const double degree = likely_degree(shape);
  const double bytes = degree * static_cast<double>(shape.bytes);
  const bool small = bytes <= static_cast<double>(shape.eager_max);
  return {.hops = small ? 1.0 : 2.0,
          .rounds = small ? 1.0 : 2.0,
          .remote_bytes = bytes,
          .slot_bytes = small || shape.reach == selection::Reach::staged ? bytes : 0.0,
          .left_bytes = small ? 0.0 : bytes,
          .exposures = small ? 0.0 : 1.0,
          .startups = small ? 0.0 : degree,
          // Who reads from a rank at the moment at which another one does, if all go on in any order.
          .concurrency = 2 - 1 / std::max(1.0, degree)};
}

}  // namespace tutti
