// Reduce_scatter of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its whole contribution into its slot (the smallest into the flag's own line). Phase 2:
// every rank combines its own range of all slots in one pass, in rank order. A rank that gets no element does not wait.
// Cost: one flag hop, n bytes copied, n (p-1)/p read from others, n reduced by each rank where the counts are equal.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/eager_reduce.h"
#include "topology/owned_range.h"

namespace tutti {

namespace {

eager::Part reduce_scatter_part(const OperationView& operation, const ReduceScatterArguments& arguments) {
  const int rank = operation.communicator().rank();
  const std::size_t element = arguments.combiner->element_bytes;
  const topology::Range mine = topology::owned_range(arguments.counts, rank);
  // In place, the result may overlap the own contribution in the user's buffer: that is in the slot too.
  const bool overlaps = arguments.receive < arguments.send + arguments.bytes() &&
                        arguments.send < arguments.receive + mine.length() * element;
  const std::byte* own = overlaps ? eager::payload_of(operation, rank, arguments.bytes()) : arguments.send;
  return {true, mine.empty() ? 0 : operation.communicator().size(), mine, own};
}

}  // namespace

selection::Algorithm<ReduceScatterArguments> reduce_scatter_eager{
    "eager",
    {"1", "n in, n read: the own range of every slot", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      return selection::Cost{// The flags, and the lines in which the blocks are.
                             .hops = 1.2 + 2 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 2,  // all wait for all
                             .remote_bytes = others * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = bytes,
                             .across = selection::Across::all};
    },
    eager::reduction_forms<ReduceScatterArguments, reduce_scatter_part>()};

}  // namespace tutti
