// Gather of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank but the root copies its block into its slot, grain by grain (the smallest into the flag's own
// line), and is done: the ring of slots lets it go on. Phase 2: the root copies all of them out, in rank order.
// Cost: one flag hop; n bytes copied in by each, (p-1) n out by the root.
// Requires: equal blocks, n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. After XHC, section III.D.

#include "collectives/common/eager.h"

#include <algorithm>

#include "collectives/collectives.h"

namespace tutti {

namespace {

void receive(Communicator& communicator, std::uint64_t sequence, const GatherArguments& arguments, int rank) {
  std::byte* destination = arguments.receive.at(static_cast<std::size_t>(rank));
  const std::size_t bytes = arguments.bytes;
  if (eager::fits_inline(bytes)) {
    reduction::copy(destination, eager::receive(communicator, sequence, rank, bytes, bytes, "Gather"), bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += grain_bytes) {
    const std::size_t end = std::min(at + grain_bytes, bytes);
    const std::byte* data = eager::receive(communicator, sequence, rank, bytes, end, "Gather");
    reduction::copy(destination + at, data + at, end - at);
  }
}

void run(Communicator& communicator, const GatherArguments& arguments) {
  const std::uint64_t sequence = eager::begin(communicator, arguments.bytes);
  if (communicator.rank() != arguments.root) {
    eager::send(communicator, sequence, arguments.send, arguments.bytes);
  } else {
    if (arguments.send)
      reduction::copy(arguments.receive.at(static_cast<std::size_t>(arguments.root)), arguments.send, arguments.bytes);
    for (int rank = 0; rank < communicator.size(); ++rank)
      if (rank != arguments.root) receive(communicator, sequence, arguments, rank);
    communicator.seen_all(sequence);
  }
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_eager;
const selection::Algorithm<GatherArguments> gather_eager{
    "eager",
    {"1", "n in, (p-1) n out at the root", "XHC III.D"},
    {"equal blocks of at most TUTTI_EAGER_MAX bytes, TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) { return shape.small() && shape.few_ranks(); }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 1.0 + 0.2 * shape.ranks,
                             .rounds = 1,
                             .remote_bytes = bytes * others,
                             // The root reads when all have written, those of a core one after the other.
                             .slot_bytes = bytes * std::max(1.0, shape.ranks_per_core),
                             .workers = 1,
                             .across = selection::Across::all};
    },
    run};

}  // namespace tutti
