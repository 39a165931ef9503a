// Allgather of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its block into its slot (the smallest into the flag's own line). Phase 2: everybody copies
// the blocks of all others out, beginning with the next rank's. No acknowledgement: the ring of slots lets a rank go
// on. Blocks of Allgatherv travel packed, which says how long they are: a reader may have less room.
// Cost: one flag hop, n bytes copied in, (p - 1) n out; each rank's lines are read by p - 1.
// Requires: blocks of at most TUTTI_EAGER_MAX bytes, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/common/eager.h"

#include <algorithm>

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/buffers/packed_blocks.h"

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

/// use(rank) for the others, beginning with the next one, of which `receive` has a block. Then the operation is over.
template <class Use>
void for_each_other(Communicator& communicator, std::uint64_t sequence, const Blocks& receive, Use&& use) {
  const int ranks = communicator.size();
  bool all_seen = true;
  for (int i = 1, rank = communicator.rank(); i < ranks; ++i) {
    if (++rank == ranks) rank = 0;
    if (receive.size(static_cast<std::size_t>(rank)) == 0)
      all_seen = false;
    else
      use(rank);
  }
  if (all_seen) communicator.seen_all(sequence);
  communicator.complete(sequence);
}

void run_equal(Communicator& communicator, const AllgatherArguments& arguments) {
  const Blocks& receive = arguments.receive;
  const std::size_t bytes = receive.bytes;
  std::byte* const own = receive.at(static_cast<std::size_t>(communicator.rank()));
  const std::uint64_t sequence = eager::begin(communicator, bytes);
  const std::byte* const source = arguments.send ? arguments.send : own;
  eager::send(communicator, sequence, source, bytes);
  if (source != own) reduction::copy(own, source, bytes);
  for_each_other(communicator, sequence, receive, [&](int rank) {
    copy_out(communicator, sequence, rank, receive.at(static_cast<std::size_t>(rank)), bytes);
  });
}

void run_varying(Communicator& communicator, const AllgatherArguments& arguments) {
  const Blocks& receive = arguments.receive;
  const auto self = static_cast<std::size_t>(communicator.rank());
  std::byte* const own = receive.at(self);
  const std::byte* const source = arguments.send ? arguments.send : own;
  const std::size_t bytes = std::min(arguments.bytes, receive.size(self));
  PackedBlocks packed(communicator);
  const PackedBlocks::Form form{bytes <= Post::inline_bytes ? PackedBlocks::Place::post : PackedBlocks::Place::area,
                                PackedBlocks::Sizes::same, bytes};
  const std::uint64_t sequence = communicator.begin(PackedBlocks::in_flight(form));
  packed.write(sequence, form, 0, source, bytes);
  packed.send(sequence, form, 1);
  if (source != own) reduction::copy(own, source, bytes);
  for_each_other(communicator, sequence, receive, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    wait_for_post(communicator, sequence, rank, "Allgather");
    packed.open(sequence, rank, 0, receive.at(i), receive.size(i));
  });
}

void run(Communicator& communicator, const AllgatherArguments& arguments) {
  arguments.receive.is_regular() ? run_equal(communicator, arguments) : run_varying(communicator, arguments);
}

}  // namespace

extern const selection::Algorithm<AllgatherArguments> allgather_eager;
const selection::Algorithm<AllgatherArguments> allgather_eager{
    "eager",
    {"1", "n in, (p-1) n out", "XHC III.D"},
    {"blocks of at most TUTTI_EAGER_MAX bytes and TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) {
       return shape.bytes <= std::min(shape.eager_max, PackedBlocks::Form::bytes_max) && shape.few_ranks();
     }},
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
