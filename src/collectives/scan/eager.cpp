// Scan and Exscan of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank but the last copies its contribution into its slot (the smallest into the flag's own line). Phase
// 2: rank r combines those of the ranks up to r (Exscan: before r) in one pass, in rank order. Nobody waits for higher
// ranks.
// Cost: one flag hop, n bytes copied, r n read and r n reduced by rank r.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D.

#include "collectives/common/eager.h"

#include "collectives/collectives.h"
#include "collectives/common/reducing/prefix.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const ScanArguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const int self = communicator.rank();
  const char* collective = arguments.exclusive ? "Exscan" : "Scan";
  const std::uint64_t sequence = eager::begin(communicator, bytes);
  if (self + 1 < communicator.size()) eager::send(communicator, sequence, arguments.send, bytes);
  const int count = arguments.exclusive ? self : self + 1;
  if (count > 0) {
    const void** sources = communicator.sources();
    for (int rank = 0; rank < count; ++rank)
      sources[rank] =
          rank == self ? arguments.send : eager::receive(communicator, sequence, rank, bytes, bytes, collective);
    (*arguments.combiner)(arguments.receive, sources, static_cast<std::size_t>(count), arguments.count);
  }
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<ScanArguments> scan_eager;
const selection::Algorithm<ScanArguments> scan_eager{
    "eager",
    {"1", "n in, r n read by rank r", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // The last rank has most to do; on crowded cores the lighter work of the others is added to it.
      const double sources = (shape.ranks - 1) * (shape.oversubscribed() ? 0.5 : 1.0);
      return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                             // For those before it only, and nobody waits for those behind.
                             .rounds = 1.5,
                             .remote_bytes = sources * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = (sources + 1) * bytes,
                             .streams = mean_readers(shape),
                             .common = true,
                             .across = selection::Across::all};
    },
    run,
    {},
    nullptr,
    {.in_rank_order = true}};

}  // namespace tutti
