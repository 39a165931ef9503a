// Alltoall of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its blocks for the others into its data area, or into the flag's own line if they all fit
// there. Phase 2: it copies its block out of the area of each other rank, beginning with the next. No acknowledgement:
// the ring of slots lets a rank go on.
// Cost: one flag hop, (p - 1) n bytes in and as many out.
// Requires: equal blocks, (p - 1) n bytes in a data area, at most TUTTI_FLAT_MAX ranks. The copy-in/copy-out of XHC,
// section III.D.

#include "collectives/common/eager.h"

#include "collectives/collectives.h"

namespace tutti {

namespace {

/// Blocks [first, last) of `blocks`, one behind the other.
std::byte* pack(std::byte* destination, const Blocks& blocks, int first, int last) {
  const auto count = static_cast<std::size_t>(last - first);
  if (blocks.stride == blocks.bytes) {
    reduction::copy(destination, blocks.at(static_cast<std::size_t>(first)), count * blocks.bytes);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      reduction::copy(destination + i * blocks.bytes, blocks.at(static_cast<std::size_t>(first) + i), blocks.bytes);
  }
  return destination + count * blocks.bytes;
}

void run(Communicator& communicator, const AlltoallArguments& arguments) {
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const auto own = static_cast<std::size_t>(self);
  const std::size_t bytes = arguments.send.bytes;
  // In the order of the ranks, this one left out.
  const std::size_t total = static_cast<std::size_t>(ranks - 1) * bytes;
  const bool in_line = eager::fits_inline(total);

  const std::uint64_t sequence = eager::begin(communicator, total);
  Post& mine = communicator.slot(self, sequence).post;
  std::byte* area = in_line ? mine.payload : communicator.slot_data(self, sequence);
  pack(pack(area, arguments.send, 0, self), arguments.send, self + 1, ranks);
  mine.flag.set(sync::stamp(sequence, 1));
  communicator.published();
  if (!in_line) communicator.expect_data(sequence, total);

  reduction::copy(arguments.receive.at(own), arguments.send.at(own), bytes);
  for (int i = 1, rank = self; i < ranks; ++i) {
    if (++rank == ranks) rank = 0;
    const Post& theirs = communicator.slot(rank, sequence).post;
    if (const sync::Stamp target = sync::stamp(sequence, 1); !theirs.flag.has(target)) {
      const sync::WaitReason reason{"Alltoall", &communicator, sequence, communicator.node_rank(rank)};
      sync::wait(*communicator.node().waiter, reason, [&] { return theirs.flag.has(target); });
    }
    communicator.check(rank, sequence);
    const std::byte* blocks = in_line ? theirs.payload : communicator.slot_data(rank, sequence);
    reduction::copy(arguments.receive.at(static_cast<std::size_t>(rank)),
                    blocks + (rank < self ? own - 1 : own) * bytes, bytes);
  }
  communicator.seen_all(sequence);
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<AlltoallArguments> alltoall_eager;
const selection::Algorithm<AlltoallArguments> alltoall_eager{
    "eager",
    {"1", "(p-1) n in and as many out", "XHC III.D"},
    {"equal blocks that fit into a data area together, at most TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) {
       return shape.regular && static_cast<std::size_t>(shape.ranks - 1) * shape.bytes <= shape.slot_bytes &&
              shape.few_ranks();
     }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                             .rounds = 2,  // all wait for all
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .slot_bytes = others * bytes,
                             .across = selection::Across::all};
    },
    run};

}  // namespace tutti
