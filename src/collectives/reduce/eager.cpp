// Reduce of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank but the root copies its contribution into its slot and is done. Phase 2: the root combines all
// slots and its own contribution in one pass, in rank order.
// Cost: one flag hop, n bytes copied, p n bytes reduced at the root.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/collectives.h"
#include "collectives/common/reducing/eager_reduce.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const ReduceArguments& arguments) {
  const std::uint64_t sequence = eager::begin(communicator, arguments.bytes());
  if (communicator.rank() == arguments.root)
    eager::combine_all(communicator, sequence, arguments.send, arguments.receive, arguments.count, *arguments.combiner,
                       "Reduce");
  else
    eager::send(communicator, sequence, arguments.send, arguments.bytes());
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<ReduceArguments> reduce_eager;
const selection::Algorithm<ReduceArguments> reduce_eager{
    "eager",
    {"1", "n in, p n read by the root", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      // The root works alone: on a crowded core the others' turns are not added to its own.
      const double crowd = shape.oversubscribed() ? shape.ranks_per_core : 1;
      return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                             .rounds = 1,
                             .remote_bytes = others * bytes / crowd,
                             .slot_bytes = bytes,
                             .reduced_bytes = shape.ranks * bytes / crowd,
                             .streams = 1,
                             .across = selection::Across::all};
    },
    run,
    {},
    nullptr,
    {.in_rank_order = true}};

}  // namespace tutti
