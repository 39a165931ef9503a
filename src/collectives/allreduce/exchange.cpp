// Allreduce by shares, flat: reduce one's share into one's own buffer, then fetch the others' shares.
//
// Phase 1: every rank exposes its buffers and waits for those of the others. Phase 2: it reduces its share from all
// send buffers in one pass, in rank order, into its own receive buffer, and says block by block how far it is. Phase 3:
// it copies the shares of the others from their receive buffers as they become ready. Phase 4: it waits until all have
// read.
// Cost: three flag hops; each rank reads n bytes of contributions and n (p-1)/p of results, and writes only its own
// memory: lines of other ranks are read, never taken away, which is what `share` does when it stores into them.
// Requires: at most TUTTI_FLAT_MAX ranks. This is XBRC, with which XHC compares itself (section V.C), and answers to
// that name too; that others read a share while it is being reduced, instead of after, is ours.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// Steps of its share that a rank has reduced.
constexpr FlagName segment_reduced{Line::reduced, 0};
constexpr FlagSet exchange_flags = FlagSet::of(segment_reduced, done_flag);

constexpr std::size_t step_bytes = 16 * grain_bytes;

Task exchange_body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const std::size_t element = arguments.combiner->element_bytes;
  ReductionBuffers buffers = expose_reduction(operation, arguments, true);
  post_filling(operation, buffers, arguments.send);

  const RemoteBuffer* const sources = co_await Contributions(operation, buffers.source);
  const RemoteBuffer own{self, buffers.destination.region};
  const topology::Range mine = share_of_rank(communicator, self, buffers);
  const std::size_t step = std::max<std::size_t>(step_bytes / element, 1);
  for (std::size_t at = mine.begin; at < mine.end; at += step) {
    const topology::Range part{at, std::min(at + step, mine.end)};
    co_await reduce_range(operation, *buffers.combiner, part, {sources, ranks}, own, arguments.store);
    operation.publish(segment_reduced, (at - mine.begin) / step + 1);
  }
  for (int i = 1; i < ranks; ++i) {
    const int rank = (self + i) % ranks;
    const topology::Range theirs = share_of_rank(communicator, rank, buffers);
    for (std::size_t at = theirs.begin; at < theirs.end; at += step) {
      const std::size_t end = std::min(at + step, theirs.end);
      co_await operation.has(rank, segment_reduced, (at - theirs.begin) / step + 1);
      operation.peer(rank).copy_from(posted_destination(operation, rank), at * element,
                                     arguments.receive + at * element, (end - at) * element, arguments.store);
    }
  }
  co_await operation.copied();
  operation.publish_done();
  co_await operation.others_done();
  collect_result(buffers, mine);
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_exchange{
    "exchange",
    {"3", "n read, n/p written, the others' shares read", "XBRC as XHC V.C describes it"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      return selection::Cost{.hops = 5.4 + 4 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 5,
                             .remote_bytes = 2 * others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = bytes,
                             .left_bytes = bytes,
                             .exposures = 2,
                             .startups = 2 * shape.ranks + bytes / usual_block_bytes,
                             // The other half, the results, each reads from the next one first.
                             .crowded_bytes = others * bytes,
                             .crowd = readers_of_one(shape, shape.ranks - 1),
                             .across = selection::Across::all};
    },
    {exchange_body, exchange_flags},
    {},
    {},
    "xbrc"};

}  // namespace tutti
