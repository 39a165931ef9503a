// Scan and Exscan of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank but the last copies its contribution into its slot (the smallest into the flag's own line). Phase
// 2: rank r combines those of the ranks up to r (Exscan: before r) in one pass, in rank order. Nobody waits for higher
// ranks.
// Cost: one flag hop, n bytes copied, r n read and r n reduced by rank r.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/eager_reduce.h"
#include "collectives/common/reducing/prefix.h"

namespace tutti {

namespace {

eager::Part scan_part(const OperationView& operation, const ScanArguments& arguments) {
  const int rank = operation.communicator().rank(), ranks = operation.communicator().size();
  return {rank + 1 < ranks,
          rank + (arguments.exclusive ? 0 : 1),
          {0, arguments.count},
          arguments.send,
          reduction::Order::in_sequence};
}

}  // namespace

selection::Algorithm<ScanArguments> scan_eager{
    "eager",
    {"1", "n in, r n read by rank r", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // The last rank has most to do; on crowded cores the lighter work of the others is added to it.
      const double sources = (shape.ranks - 1) * (shape.oversubscribed() ? 0.5 : 1.0);
      return selection::Cost{.hops = 1.2 + selection::all_look * selection::further_ranks(shape),
                             // For those before it only, and nobody waits for those behind.
                             .rounds = 1.5,
                             .remote_bytes = sources * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = (sources + 1) * bytes,
                             .streams = mean_readers(shape),
                             .common = true,
                             .across = selection::Across::all};
    },
    eager::reduction_forms<ScanArguments, scan_part>()};

}  // namespace tutti
