// Allreduce of small messages: all read all.
//
// Phase 1: every rank copies its contribution into its slot (the smallest into the flag's own line). Phase 2: every
// rank combines all contributions in one pass, in rank order, so that all get the same bits.
// Cost: one flag hop, n bytes copied, (p - 1) n read from others, p n reduced by each rank.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D; that all
// combine, instead of a root that hands the result down, is ours.

#include "collectives/collectives.h"
#include "collectives/common/reducing/eager_reduce.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const AllreduceArguments& arguments) {
  const std::uint64_t sequence = eager::begin(communicator, arguments.bytes());
  eager::send(communicator, sequence, arguments.send, arguments.bytes());
  eager::combine_all(communicator, sequence, arguments.send, arguments.receive, arguments.count, *arguments.combiner,
                     "Allreduce");
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<AllreduceArguments> allreduce_eager;
const selection::Algorithm<AllreduceArguments> allreduce_eager{
    "eager",
    {"1", "n in, p n read by every rank", "XHC III.D; that all read all is ours"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                             .rounds = 2,  // all wait for all
                             .remote_bytes = (shape.ranks - 1) * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = shape.ranks * bytes,
                             .common = true,
                             .across = selection::Across::all};
    },
    run,
    {},
    nullptr,
    {.in_rank_order = true}};

}  // namespace tutti
