// The reference design of two copies through shared memory (SMHC, as described in XHC, section V.C): a rank with
// something to hand on copies it, piece by piece, into shared memory of its own, from where the others copy or combine
// it. Two pieces take turns, so that one is filled while the other is read. The tree is flat, or has a leader a socket.
#pragma once

#include "collectives/common/trees/pull.h"

namespace tutti::smhc {

/// Size of a piece where TUTTI_CHUNK says nothing else: for costs.
inline constexpr double usual_piece_bytes = 128 * 1024;

// All in pieces. That a child has copied them is what its done_flag says.
inline constexpr FlagName collected{Line::ready, 0};   ///< a rank's contributions that its parent may combine
inline constexpr FlagName combined{Line::reduced, 0};  ///< contributions of its children that a parent has combined
inline constexpr FlagName released{Line::ready, 1};    ///< results that children may copy
inline constexpr FlagSet flags = FlagSet::of(collected, combined, released, done_flag);

/// The shared memory of one rank. Sizes are equal on all ranks of a call.
struct Pieces {
  memory::Region region;
  std::byte* local = nullptr;
  std::size_t bytes = 0;     ///< of the message
  std::size_t piece = 0;     ///< bytes of one
  std::size_t distance = 0;  ///< from the first to the second; 0: the message fits an operation's data area
  std::size_t count = 0;

  /// Nobody need wait until the others have read.
  bool in_the_ring() const { return distance == 0; }
  std::size_t offset(std::size_t i) const { return i % 2 * distance; }
  std::size_t begin(std::size_t i) const { return i * piece; }
  std::size_t length(std::size_t i) const { return std::min(piece, bytes - i * piece); }
};

/// Makes the shared memory of this rank and posts it. unit: bytes that stay together, of one element.
Pieces post_pieces(Operation& operation, std::size_t bytes, std::size_t unit);

/// Where the result of an Allreduce is put together.
inline constexpr int internal_root = 0;

/// The algorithms in a tree, of which this rank has `place`.
Task bcast(Operation& operation, const TreePlace& place, const BcastArguments& arguments);
Task reduce(Operation& operation, const TreePlace& place, const ReduceArguments& arguments);
Task allreduce(Operation& operation, TreePlace place, const AllreduceArguments& arguments);

/// The way down: from the root's buffer into all buffers.
Task release(Operation& operation, TreePlace place, Pieces mine, std::byte* buffer);

/// The way up: a parent combines its own contribution and what each of its children has, at whatever level, all at once
/// and in the order of their ranks; the root into `result`.
/// Returns when nobody will read this rank's pieces any more, unless they are in the ring.
Task collect(Operation& operation, TreePlace place, Pieces mine, const std::byte* send, std::byte* result,
             const Combiner& combiner);

}  // namespace tutti::smhc
