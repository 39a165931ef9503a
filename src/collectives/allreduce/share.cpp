// Allreduce by shares, flat: every rank reduces its part of the index range for all.
//
// Phase 1: every rank exposes its send and receive buffers and waits for those of the others. Phase 2: it reduces its
// share from all send buffers in one pass, in rank order, and stores every block into all receive buffers while the
// block is in its cache. Phase 3: it waits until all have finished.
// Cost: two flag hops; each rank reads n and writes n bytes whatever p is: n/p from each buffer and into each.
// Requires: at most TUTTI_FLAT_MAX ranks. The idea of shares is XBRC's (as described in XHC, section V.C) and XHC's own
// (section IV.B, step 2a); storing straight into all receive buffers takes the place of the broadcast.

#include "collectives/common/reducing/share.h"

#include "collectives/algorithm.h"

namespace tutti {

namespace {

Task share_body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const int self = communicator.rank();
  ReductionBuffers buffers = expose_reduction(operation, arguments, true);
  const topology::Range mine = share_of_rank(communicator, self, buffers);
  post_filling(operation, buffers, arguments.send, mine);

  RemoteBuffer* destinations = operation.array<RemoteBuffer>(static_cast<std::size_t>(ranks));
  RemoteBuffer* const sources = co_await Contributions(operation, buffers.source);
  const bool in_place = own_source(buffers, arguments.send, sources[self]);
  // Own buffer first, where the block is made; then the others, each rank beginning with another one.
  for (int i = 0; i < ranks; ++i) {
    const int rank = (self + i) % ranks;
    destinations[i] = {rank, posted_destination(operation, rank, buffers.destination)};
  }
  if (in_place || buffers.destination.copied) destinations[0].region = own_memory(arguments.receive);

  co_await reduce_range(operation, *buffers.combiner, mine, {sources, ranks}, {destinations, ranks}, arguments.store);
  operation.publish_done();
  co_await operation.others_done();
  take_results(buffers, mine, arguments.store);
  collect_result(buffers, {0, mine.begin});
  collect_result(buffers, {mine.end, buffers.count});
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_share{
    "share",
    {"2", "n read, n written into all receive buffers", "XBRC (XHC V.C) and XHC IV.B"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      // Two flags, and the looks for all others' buffers and into the table of regions, which take as long again.
      return selection::Cost{.hops = 4.4 + 3 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 4,
                             .remote_bytes = 2 * others * bytes,
                             .written_bytes = others * bytes,
                             // What others want of the source, and what they make of the result.
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * others * bytes : 0.0,
                             .reduced_bytes = bytes,
                             .left_bytes = bytes * others,
                             .exposures = 2.0,
                             .startups = 2 * (shape.ranks + bytes / usual_block_bytes),
                             .concurrency = readers_of_one(shape, shape.ranks - 1),
                             .across = selection::Across::all};
    },
    {share_body, only_done},
    {.stores_to_peers = true, .lends = Readers::one}};

}  // namespace tutti
