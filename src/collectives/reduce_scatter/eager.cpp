// Reduce_scatter of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its whole contribution into its slot (the smallest into the flag's own line). Phase 2:
// every rank combines its own range of all slots in one pass, in rank order. A rank that gets no element does not wait.
// Cost: one flag hop, n bytes copied, n (p-1)/p read from others, n reduced by each rank where the counts are equal.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D.

#include "collectives/common/eager.h"

#include "collectives/collectives.h"
#include "topology/owned_range.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const ReduceScatterArguments& arguments) {
  const std::size_t element = arguments.combiner->element_bytes;
  const std::size_t bytes = arguments.bytes();
  const std::uint64_t sequence = eager::begin(communicator, bytes);
  eager::send(communicator, sequence, arguments.send, bytes);
  const topology::Range mine = topology::owned_range(arguments.counts, communicator.rank());
  if (!mine.empty()) {
    // In place, the result may overlap the own contribution in the user's buffer: that is in the slot too.
    const int self = communicator.rank();
    const bool overlaps =
        arguments.receive < arguments.send + bytes && arguments.send < arguments.receive + mine.length() * element;
    const void** sources = communicator.sources();
    for (int rank = 0; rank < communicator.size(); ++rank) {
      const std::byte* const theirs = rank == self && !overlaps ? arguments.send
                                                                : eager::receive(communicator, sequence, rank, bytes,
                                                                                 mine.end * element, "Reduce_scatter");
      sources[rank] = theirs + mine.begin * element;
    }
    communicator.seen_all(sequence);
    (*arguments.combiner)(arguments.receive, sources, static_cast<std::size_t>(communicator.size()), mine.length());
  }
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<ReduceScatterArguments> reduce_scatter_eager;
const selection::Algorithm<ReduceScatterArguments> reduce_scatter_eager{
    "eager",
    {"1", "n in, n read: the own range of every slot", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                             .rounds = 2,  // all wait for all
                             .remote_bytes = others * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = bytes,
                             .across = selection::Across::all};
    },
    run,
    {},
    nullptr,
    {.in_rank_order = true}};

}  // namespace tutti
