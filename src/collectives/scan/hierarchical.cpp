// Scan and Exscan in two levels and two passes, by shares: within blocks of neighbouring ranks, then across them.
//
// Phase 1: the members of a block of ranks (those that share a socket or the like) divide the index range; each makes
// the prefixes of its share within the block, in all members' receive buffers, and the block's total. Phase 2: each
// combines, for its share, the totals of all earlier blocks, and puts that in front of every member's prefix. Phase 3:
// a rank waits for its block; the last rank of a block, which keeps the total, for all later blocks.
// Cost: three flag hops; with b blocks of m ranks each rank reads and writes 2 n within its block and reads b n/m from
// the others, where `share` moves 2 n (p-m)/p bytes across the boundaries between blocks.
// Requires: nothing. Blocks are of consecutive ranks, so operators need not commute. Ours; two levels as in XHC, III.A.

#include <cmath>

#include "collectives/algorithm.h"
#include "collectives/common/reducing/prefix.h"

namespace tutti {

namespace {

/// A rank has made the prefixes of its share for its block of ranks.
constexpr FlagName prefix_reduced{Line::reduced, 0};
constexpr FlagSet scan_hierarchical_flags = FlagSet::of(prefix_reduced, done_flag);

Task hierarchical_body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Combiner& combiner = *arguments.combiner;
  const topology::RankBlocks& blocks = communicator.rank_blocks();
  const int self = communicator.rank();
  const int block = blocks.of[static_cast<std::size_t>(self)];
  const int first = blocks.first(block);
  const int last = blocks.last(block);
  const auto members = static_cast<std::size_t>(blocks.size(block));
  const bool keeps_total = self == last && block + 1 < blocks.count();

  // The total lies behind what the staging buffer may otherwise be used for.
  memory::Region total;
  if (keeps_total)
    total = communicator.arena_region(operation.staging(static_cast<int>(Side::destination), 2 * arguments.bytes()) +
                                      arguments.bytes());
  const bool gets_result = !arguments.exclusive || self > 0;
  ReductionBuffers buffers = expose_reduction(operation, arguments, gets_result);
  operation.own().post.regions.bytes = total.bits();
  post_filling(operation, buffers, arguments.send);

  // Phase 1.
  const auto total_of = [&](int each) {
    const int rank = blocks.last(each);
    return RemoteBuffer{rank,
                        rank == self ? total : memory::Region::from_bits(operation.slot(rank).post.regions.bytes)};
  };
  RemoteBuffer* sources = operation.array<RemoteBuffer>(members);
  RemoteBuffer* destinations = operation.array<RemoteBuffer>(members);
  for (int rank = first; rank <= last; ++rank) {
    if (rank != self) co_await operation.posted(rank);
    sources[rank - first] = {rank, posted_source(operation, rank, buffers.source)};
    destinations[rank - first] = {rank, posted_destination(operation, rank, buffers.destination)};
  }
  const topology::Range share = topology::share_of({0, arguments.count}, static_cast<std::size_t>(self - first),
                                                   members, topology::elements_in_line(combiner.element_bytes));
  co_await prefix_range(operation, combiner, share,
                        {sources, destinations, members, arguments.exclusive, total_of(block)}, memory::Store::cached);
  operation.publish(prefix_reduced);

  // Phase 2.
  if (block > 0) {
    for (int rank = 0; rank < first; ++rank) co_await operation.has(rank, prefix_reduced);
    RemoteBuffer* carries = operation.array<RemoteBuffer>(static_cast<std::size_t>(block));
    for (int each = 0; each < block; ++each) carries[each] = total_of(each);
    co_await carry_range(operation, combiner, share, {carries, block}, {destinations, members}, arguments.exclusive);
  }
  operation.publish_done();

  // Phase 3.
  const int end = keeps_total ? communicator.size() : last + 1;
  for (int rank = first; rank < end; ++rank)
    if (rank != self) co_await operation.done(rank);
  collect_result(buffers);
}

}  // namespace

selection::Algorithm<ScanArguments> scan_hierarchical{
    "hierarchical",
    {"3", "2n in its block of ranks, twice; its share of each earlier block's total",
     "ours; two levels as in XHC III.A"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // Blocks and their members, about equal in number.
      return selection::Cost{
          .hops = 3.0 + 0.3 * shape.ranks,
          .rounds = 5,
          .copied_bytes = 2 * bytes,
          .remote_bytes = 3 * bytes,
          .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
          .reduced_bytes = 5 * bytes,
          .left_bytes = bytes,
          .exposures = 2,
          .startups = 2 * std::max(std::sqrt(static_cast<double>(shape.ranks)), bytes / usual_block_bytes),
          .concurrency = std::sqrt(static_cast<double>(shape.ranks)),
          // Its blocks follow the machine where the ranks do.
          .across = shape.distances.scattered ? selection::Across::all : selection::Across::levels};
    },
    {hierarchical_body, scan_hierarchical_flags}};

}  // namespace tutti
