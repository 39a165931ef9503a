// Scan and Exscan by shares, flat: every rank makes all prefixes of its part of the index range.
//
// Phase 1: every rank exposes its send and receive buffers and waits for those of the others. Phase 2: it reads its
// share of the send buffers one after the other, in rank order, and stores what has come together so far into the
// receive buffer of the rank it has come to. Nobody else touches that share, so buffers may be in place. Phase 3: all
// wait for all.
// Cost: two flag hops; each rank reads n bytes and writes n, whatever p is: n/p from each buffer and into each.
// Requires: at most TUTTI_FLAT_MAX ranks. Ours; the shares are XBRC's (as described in XHC, section V.C).

#include "collectives/algorithm.h"
#include "collectives/common/reducing/prefix.h"

namespace tutti {

namespace {

Task share_body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool gets_result = !arguments.exclusive || self > 0;
  ReductionBuffers buffers = expose_reduction(operation, arguments, gets_result);
  post_filling(operation, buffers, arguments.send);

  const RemoteBuffer* const sources = co_await Contributions(operation, buffers.source);
  RemoteBuffer* destinations = operation.array<RemoteBuffer>(ranks);
  for (int rank = 0; rank < communicator.size(); ++rank)
    destinations[rank] = {rank, posted_destination(operation, rank, buffers.destination)};

  const topology::Range share = topology::share_of({0, arguments.count}, static_cast<std::size_t>(self), ranks,
                                                   topology::elements_in_line(arguments.combiner->element_bytes));
  co_await prefix_range(operation, *arguments.combiner, share, {sources, destinations, ranks, arguments.exclusive, {}},
                        arguments.store);
  operation.publish_done();
  co_await operation.others_done();
  take_results(buffers, share, arguments.store);
  collect_result(buffers);
}

}  // namespace

selection::Algorithm<ScanArguments> scan_share{
    "share",
    {"2", "n read, n written: all prefixes of the own share", "ours; the shares are XBRC's (XHC V.C)"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             .rounds = 4,
                             // What goes past the caches of others is made in private memory first.
                             .copied_bytes = bytes / shape.ranks + others * bytes,
                             .remote_bytes = 2 * others * bytes,
                             .written_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = 2 * bytes,
                             .left_bytes = others * bytes,
                             .exposures = 2,
                             .startups = 2 * std::max<double>(shape.ranks - 1, bytes / usual_block_bytes),
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .across = selection::Across::all};
    },
    {share_body, only_done},
    {.stores_to_peers = true, .lends = Readers::many}};

}  // namespace tutti
