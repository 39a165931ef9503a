// Alltoall of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its blocks for the others into its data area, or into the flag's own line if they all fit
// there. Phase 2: it copies its block out of the area of each other rank, beginning with the next. No acknowledgement:
// the ring of slots lets a rank go on.
// Cost: one flag hop, (p - 1) n bytes in and as many out.
// Requires: equal blocks, (p - 1) n bytes in a data area, at most TUTTI_FLAT_MAX ranks. The copy-in/copy-out of XHC,
// section III.D.

#include "collectives/common/eager.h"

#include "collectives/algorithm.h"

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

/// Blocks in the order of the ranks, this one's left out.
class EagerAlltoall {
 public:
  EagerAlltoall(const OperationView& operation, const AlltoallArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        self_(operation.communicator().rank()),
        rank_(operation.communicator().next_rank()),
        total_(payload(operation.communicator(), arguments)) {}
  static std::size_t payload(const Communicator& communicator, const AlltoallArguments& arguments) {
    return static_cast<std::size_t>(communicator.size() - 1) * arguments.send.bytes;
  }

  void send() {
    const bool in_line = eager::fits_inline(total_);
    Post& mine = operation_.own().post;
    std::byte* area = in_line ? mine.payload : operation_.own_data();
    pack(pack(area, arguments_.send, 0, self_), arguments_.send, self_ + 1, operation_.communicator().size());
    operation_.publish(mine.flag, 1);
    if (!in_line) operation_.expect_data(total_);
    const auto own = static_cast<std::size_t>(self_);
    reduction::copy(arguments_.receive.at(own), arguments_.send.at(own), arguments_.send.bytes);
  }
  bool next(eager::Wanted& wanted) {
    if (rank_ == self_) return false;
    // All blocks come at once.
    wanted = eager::wanted(rank_, total_, 1);
    return true;
  }
  void take(const eager::Wanted&) {
    const std::size_t bytes = arguments_.send.bytes;
    const auto place = static_cast<std::size_t>(rank_ < self_ ? self_ - 1 : self_);
    reduction::copy(arguments_.receive.at(static_cast<std::size_t>(rank_)),
                    eager::payload_of(operation_, rank_, total_) + place * bytes, bytes);
    if (++rank_ == operation_.communicator().size()) rank_ = 0;
  }
  void end() { operation_.seen_all(); }

 private:
  OperationView operation_;
  const AlltoallArguments& arguments_;
  int self_;
  int rank_;  ///< whose block is taken next
  std::size_t total_;
};

}  // namespace

selection::Algorithm<AlltoallArguments> alltoall_eager{
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
      return selection::Cost{// The flags, and the lines in which the blocks are.
                             .hops = 1.2 + 2 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 2,  // all wait for all
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .slot_bytes = others * bytes,
                             .across = selection::Across::all};
    },
    eager::forms<EagerAlltoall, AlltoallArguments>()};

}  // namespace tutti
