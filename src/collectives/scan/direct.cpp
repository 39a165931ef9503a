// Scan and Exscan, direct: every rank combines the send buffers of the ranks up to itself.
//
// Phase 1: every rank but the last exposes its send buffer. Phase 2: rank r waits for those below it and combines them
// in one pass, in rank order, into its receive buffer; in place, into memory beside it, since higher ranks still read.
// Phase 3: a rank whose buffer is read waits for the ranks above it, then puts a result in place where it belongs.
// Cost: two flag hops; rank r reads r n bytes, so n p^2/2 in all: for few ranks.
// Requires: at most TUTTI_FLAT_MAX ranks. Single copy as in XHC, section III.C; XHC has no Scan, how it is done is ours.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/prefix.h"

namespace tutti {

namespace {

Task direct_body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const bool read_by_others = self + 1 < communicator.size();
  const int count = arguments.exclusive ? self : self + 1;
  Exposure exposed{{}, nullptr, false, true};
  if (read_by_others) exposed = stage(operation, arguments.send, arguments.bytes());

  RemoteBuffer* sources = operation.array<RemoteBuffer>(static_cast<std::size_t>(self) + 1);
  for (int rank = 0; rank < self; ++rank) {
    co_await operation.posted(rank);
    sources[rank] = {rank, posted_source(operation, rank)};
  }
  sources[self] = {self, own_memory(arguments.send)};
  std::byte* result = arguments.receive;
  if (count > 0) {
    if (read_by_others && arguments.send == arguments.receive && !exposed.copied)
      result = operation.staging(static_cast<int>(Side::destination), arguments.bytes());
    const RemoteBuffer destination{self, own_memory(result)};
    co_await reduce_range(operation, *arguments.combiner, {0, arguments.count}, {sources, count}, destination,
                          arguments.store, reduction::Order::in_sequence);
  }
  operation.publish_done();
  if (!exposed.in_the_ring)
    for (int rank = self + 1; rank < communicator.size(); ++rank) co_await operation.done(rank);
  if (result != arguments.receive && count > 0) copy_bytes(arguments.receive, result, arguments.bytes());
}

}  // namespace

selection::Algorithm<ScanArguments> scan_direct{
    "direct",
    {"2", "r n read by rank r", "XHC III.C; that it scans is ours"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double sources = (shape.ranks - 1) * (shape.oversubscribed() ? 0.5 : 1.0);
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             // Up to 16 KiB it loses to eager, where nobody waits to be read.
                             .rounds = 2.5,
                             .remote_bytes = sources * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .reduced_bytes = (sources + 1) * bytes,
                             .left_bytes = bytes,
                             .exposures = 1,
                             .startups = sources * std::max(1.0, bytes / usual_block_bytes),
                             .concurrency = readers_of_one(shape, shape.ranks - 1),
                             // The first rank reads nothing, and the last one is read by none.
                             .workers = shape.ranks - 1.0,
                             .streams = mean_readers(shape),
                             .common = true,
                             .across = selection::Across::all};
    },
    {direct_body, only_done},
    {.lends = Readers::many}};

}  // namespace tutti
