// Allgather of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its block into its slot (the smallest into the flag's own line). Phase 2: everybody copies
// the blocks of all others out, beginning with the next rank's. No acknowledgement: the ring of slots lets a rank go
// on.
// Cost: one flag hop, n bytes copied in, (p - 1) n out; each rank's lines are read by p - 1.
// Requires: blocks of at most TUTTI_EAGER_MAX bytes, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/common/eager.h"

#include "base/copy.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

void copy_out(Communicator& communicator, std::uint64_t sequence, int rank, std::byte* destination, std::size_t bytes) {
  if (eager::fits_inline(bytes)) {
    reduction::copy(destination, eager::receive(communicator, sequence, rank, bytes, bytes, "Allgather"), bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += grain_bytes) {
    const std::size_t end = at + grain_bytes < bytes ? at + grain_bytes : bytes;
    const std::byte* data = eager::receive(communicator, sequence, rank, bytes, end, "Allgather");
    copy_bytes(destination + at, data + at, end - at);
  }
}

void run(Communicator& communicator, const AllgatherArguments& arguments) {
  const int ranks = communicator.size();
  const int self = communicator.rank();
  // What the others expect of this rank, which is what it sends in a correct program.
  const std::size_t bytes = arguments.receive.size(static_cast<std::size_t>(self));
  std::byte* const own = arguments.receive.at(static_cast<std::size_t>(self));
  const std::byte* source = arguments.send ? arguments.send : own;
  if (arguments.bytes < bytes && source != own) [[unlikely]] {
    reduction::copy(own, source, arguments.bytes);
    source = own;
  }

  const std::uint64_t sequence = eager::begin(communicator, bytes);
  eager::send(communicator, sequence, source, bytes);
  if (source != own) reduction::copy(own, source, bytes);
  bool all_seen = true;
  for (int i = 1, rank = self; i < ranks; ++i) {
    if (++rank == ranks) rank = 0;
    const std::size_t theirs = arguments.receive.size(static_cast<std::size_t>(rank));
    if (theirs == 0)
      all_seen = false;
    else
      copy_out(communicator, sequence, rank, arguments.receive.at(static_cast<std::size_t>(rank)), theirs);
  }
  if (all_seen) communicator.seen_all(sequence);
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<AllgatherArguments> allgather_eager;
const selection::Algorithm<AllgatherArguments> allgather_eager{
    "eager", "blocks of at most TUTTI_EAGER_MAX bytes and TUTTI_FLAT_MAX ranks",
    [](const selection::Shape& shape) {
      return shape.bytes <= shape.eager_max && static_cast<std::size_t>(shape.ranks) <= shape.flat_max;
    },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                             .rounds = 2,  // all wait for all
                             .copied_bytes = bytes,
                             .remote_bytes = (shape.ranks - 1) * bytes,
                             .slot_bytes = bytes,
                             .common = true,
                             .across = selection::Across::all};
    },
    run};

}  // namespace tutti
