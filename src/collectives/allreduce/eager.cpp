// Allreduce of small messages: all read all.
//
// Phase 1: every rank copies its contribution into its slot (the smallest into the flag's own line). Phase 2: every
// rank combines all contributions in one pass, in rank order, so that all get the same bits.
// Cost: one flag hop, n bytes copied, (p - 1) n read from others, p n reduced by each rank.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D; that all
// combine, instead of a root that hands the result down, is ours.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/eager_reduce.h"

namespace tutti {

namespace {

eager::Part allreduce_part(const OperationView& operation, const AllreduceArguments& arguments) {
  return {true, operation.communicator().size(), {0, arguments.count}, arguments.send};
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_eager{
    "eager",
    {"1", "n in, p n read by every rank", "XHC III.D; that all read all is ours"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 1.2 + selection::all_look * selection::further_ranks(shape),
                             .rounds = 2,  // all wait for all
                             .remote_bytes = (shape.ranks - 1) * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = shape.ranks * bytes,
                             .common = true,
                             .across = selection::Across::all};
    },
    eager::reduction_forms<AllreduceArguments, allreduce_part>()};

}  // namespace tutti
