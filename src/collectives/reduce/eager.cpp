// Reduce of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank but the root copies its contribution into its slot and is done. Phase 2: the root combines all
// slots and its own contribution in one pass, in rank order.
// Cost: one flag hop, n bytes copied, p n bytes reduced at the root.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/eager_reduce.h"

namespace tutti {

namespace {

eager::Part reduce_part(const OperationView& operation, const ReduceArguments& arguments) {
  const bool is_root = operation.communicator().rank() == arguments.root;
  return {!is_root, is_root ? operation.communicator().size() : 0, {0, arguments.count}, arguments.send};
}

}  // namespace

selection::Algorithm<ReduceArguments> reduce_eager{
    "eager",
    {"1", "n in, p n read by the root", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      // The root works alone: on a crowded core the others' turns are not added to its own.
      const double crowd = shape.oversubscribed() ? shape.ranks_per_core : 1;
      return selection::Cost{.hops = 1.2 + selection::one_looks * selection::further_ranks(shape),
                             .rounds = 1,
                             .remote_bytes = others * bytes / crowd,
                             // The others go on while the root reads their slots, if they have cores of their own.
                             .slot_bytes = shape.oversubscribed() ? bytes : 0.0,
                             .reduced_bytes = shape.ranks * bytes / crowd,
                             .streams = 1,
                             .beside = {.slot_bytes = shape.oversubscribed() ? 0.0 : bytes},
                             .across = selection::Across::all};
    },
    eager::reduction_forms<ReduceArguments, reduce_part>()};

}  // namespace tutti
