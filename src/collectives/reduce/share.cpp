// Reduce by shares, flat: every rank reduces its part of the index range into the root's buffer.
//
// Phase 1: every rank exposes its send buffer, the root its receive buffer too; all wait for all. Phase 2: each reduces
// its share from all send buffers in one pass, in rank order, straight into the root's buffer. Phase 3: all wait until
// all have finished reading.
// Cost: two flag hops; each rank reads n bytes (n/p of each buffer) and writes n/p.
// Requires: at most TUTTI_FLAT_MAX ranks. This is XBRC as XHC, section V.C, describes it, which is why it answers to
// that name too.

#include "collectives/common/reducing/share.h"

#include "collectives/algorithm.h"

namespace tutti {

namespace {

Task share_body(Operation& operation, const ReduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const bool is_root = self == arguments.root;
  ReductionBuffers buffers = expose_reduction(operation, arguments, is_root);
  const topology::Range mine = share_of_rank(communicator, self, buffers);
  post_filling(operation, buffers, arguments.send, mine);

  RemoteBuffer* const sources = co_await Contributions(operation, buffers.source);
  const bool in_place = own_source(buffers, arguments.send, sources[self]);

  RemoteBuffer destination{arguments.root, posted_destination(operation, arguments.root, buffers.destination)};
  if (in_place) destination.region = own_memory(arguments.receive);
  co_await reduce_range(operation, *buffers.combiner, mine, {sources, ranks}, destination, arguments.store);
  operation.publish_done();
  // What lies in the ring stays there for the readers: only a rank whose own buffers are read has to wait.
  if (is_root || !buffers.source.in_the_ring) co_await operation.others_done();
  take_results(buffers, mine, arguments.store);
  collect_result(buffers);
}

}  // namespace

selection::Algorithm<ReduceArguments> reduce_share{
    "share",
    {"2", "n read, n/p written", "XBRC as XHC V.C describes it"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      // Two flags, and the looks for all others' buffers and into the table of regions, which take as long again.
      return selection::Cost{.hops = 4.4 + 3 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 3,  // all wait for all, then the root for all
                             .remote_bytes = others * bytes + bytes / shape.ranks,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = bytes,
                             .left_bytes = bytes * (shape.ranks - 1) / shape.ranks,
                             .exposures = 2,
                             .startups = shape.ranks + 1.0 + bytes / usual_block_bytes,
                             .concurrency = readers_of_one(shape, shape.ranks - 1),
                             // All store into the root's buffer.
                             .crowded_bytes = bytes / shape.ranks,
                             .crowd = shape.ranks - 1.0,
                             .across = selection::Across::all};
    },
    {share_body, only_done},
    {.stores_to_peers = true, .lends = Readers::one},
    {},
    "xbrc"};

}  // namespace tutti
