// Reduce_scatter in two levels: blocks of neighbouring ranks first, then every owner from the blocks' partial results.
//
// Phase 1: the members of a block of ranks (those that share a socket or the like) divide the index range; each reduces
// its share of their contributions into a buffer of the block's first rank. Phase 2: every rank reduces its own range
// from the partial results of all blocks, in their order. Phase 3: the first rank of each block waits for all readers.
// Cost: three flag hops; with b blocks each rank reads n bytes in its own block and b n/p of all, where `direct` reads
// n (p-b)/p bytes across the boundaries between blocks.
// Requires: nothing. Blocks are of consecutive ranks, so operators need not commute. Ours; two levels as in XHC, III.A.
//
// A long message is cut into segments, one operation each: partial results need no more memory than one.

#include <cmath>

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"
#include "topology/owned_range.h"

namespace tutti {

namespace {

/// A rank has reduced its share for its block of ranks.
constexpr FlagName block_reduced{Line::reduced, 0};
constexpr FlagSet reduce_scatter_hierarchical_flags = FlagSet::of(block_reduced, done_flag);

/// The elements `segment` of the message. Results go to arguments.receive; in place, those of earlier segments and of
/// this one end before the end of this one, so they overwrite nothing that a later one reads.
Task hierarchical_body(Operation& operation, const ReduceScatterArguments& arguments) {
  const topology::Range segment = arguments.piece;
  Communicator& communicator = operation.communicator();
  const Combiner& combiner = *arguments.combiner;
  const topology::RankBlocks& blocks = communicator.rank_blocks();
  const int self = communicator.rank();
  const int ranks = communicator.size();
  const int block = blocks.of[static_cast<std::size_t>(self)];
  const int leader = blocks.first(block);
  const auto members = static_cast<std::size_t>(blocks.size(block));
  const std::size_t bytes = segment.length() * combiner.element_bytes;

  Exposure partial;
  if (self == leader) partial = staging_buffer(operation, Side::destination, bytes);
  const Exposure source = stage(operation, arguments.send + segment.begin * combiner.element_bytes, bytes, partial);

  // Phase 1. Here elements are counted from the segment's first.
  RemoteBuffer* contributions = operation.array<RemoteBuffer>(members);
  for (int rank = leader; rank <= blocks.last(block); ++rank) {
    if (rank != self) co_await operation.posted(rank);
    contributions[rank - leader] = {rank, posted_source(operation, rank, source)};
  }
  const RemoteBuffer collected{leader, posted_destination(operation, leader, partial)};
  const topology::Range share = topology::share_of({0, segment.length()}, static_cast<std::size_t>(self - leader),
                                                   members, topology::elements_in_line(combiner.element_bytes));
  co_await reduce_range(operation, combiner, share, {contributions, members}, collected, memory::Store::cached);
  operation.publish(block_reduced);

  // Phase 2.
  const topology::Range owned = topology::owned_range(arguments.counts, self);
  const topology::Range mine = topology::overlap(owned, segment);
  if (!mine.empty()) {
    for (int i = 1; i < ranks; ++i) {
      const int rank = (self + i) % ranks;
      co_await operation.has(rank, block_reduced);
    }
    operation.seen_all();
    RemoteBuffer* partials = operation.array<RemoteBuffer>(static_cast<std::size_t>(blocks.count()));
    for (int each = 0; each < blocks.count(); ++each) {
      const int rank = blocks.first(each);
      partials[each] = {rank, posted_destination(operation, rank, partial)};
    }
    std::byte* result = arguments.receive + (mine.begin - owned.begin) * combiner.element_bytes;
    const topology::Range here{mine.begin - segment.begin, mine.end - segment.begin};
    const RemoteBuffer destination{self, own_memory(result),
                                   -static_cast<std::ptrdiff_t>(here.begin * combiner.element_bytes)};
    co_await reduce_range(operation, combiner, here, {partials, blocks.count()}, destination, arguments.store);
  } else if (!source.in_the_ring) {
    for (int rank = leader; rank <= blocks.last(block); ++rank)
      if (rank != self) co_await operation.has(rank, block_reduced);
  }
  operation.publish_done();
  // Phase 3. Who has partial results must keep them; contributions have been read by now.
  if (self == leader) co_await operation.others_done();
}

Cut hierarchical_cut(const Communicator& communicator, const ReduceScatterArguments& arguments) {
  const std::size_t segment = segment_bytes(communicator.node().settings);
  return {arguments.count, std::max<std::size_t>(1, segment / arguments.combiner->element_bytes)};
}

}  // namespace

selection::Algorithm<ReduceScatterArguments> reduce_scatter_hierarchical{
    "hierarchical",
    {"3", "n in its block of ranks, then n/p from each block", "ours; two levels as in XHC III.A"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double blocks = std::sqrt(static_cast<double>(shape.ranks));
      // Read by all; they are staged, so that peers load them.
      const double partials = blocks * bytes / shape.ranks;
      return selection::Cost{.hops = 3.0 + 0.3 * shape.ranks,
                             .rounds = 5,
                             .copied_bytes = bytes / shape.ranks,
                             .remote_bytes = bytes + partials,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .reduced_bytes = bytes + partials,
                             .left_bytes = bytes,
                             .exposures = 2,
                             .startups = std::max(blocks, bytes / usual_block_bytes),
                             .lent_bytes = partials,
                             .concurrency = readers_of_one(shape, shape.ranks / blocks - 1),
                             .across = selection::Across::levels};
    },
    {hierarchical_body, reduce_scatter_hierarchical_flags, nullptr, nullptr, hierarchical_cut}};

}  // namespace tutti
