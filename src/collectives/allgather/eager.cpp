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

/// What the ranks send: equal blocks, or one of each rank's own size, packed.
std::size_t sent_bytes(const Communicator& communicator, const AllgatherArguments& arguments) {
  const Blocks& receive = arguments.receive;
  if (receive.is_regular()) return receive.bytes;
  return std::min(arguments.bytes, receive.size(static_cast<std::size_t>(communicator.rank())));
}

class Exchange {
 public:
  Exchange(Operation& operation, const AllgatherArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        equal_(arguments.receive.is_regular()),
        rank_(operation.communicator().rank()),
        copy_(0, 0) {}
  static std::size_t payload(const Communicator& communicator, const AllgatherArguments& arguments) {
    return sent_bytes(communicator, arguments);
  }

  void send() {
    std::byte* const own = receive().at(static_cast<std::size_t>(rank_));
    const std::byte* const source = arguments_.send ? arguments_.send : own;
    const std::size_t bytes = sent_bytes(operation_.communicator(), arguments_);
    if (equal_) {
      eager::send(operation_, source, bytes);
    } else {
      PackedBlocks packed(operation_);
      const PackedBlocks::Form form{eager::fits_inline(bytes) ? PackedBlocks::Place::post : PackedBlocks::Place::area,
                                    PackedBlocks::Sizes::same, bytes};
      packed.write(form, 0, source, bytes);
      packed.send(form, 1);
    }
    if (source != own) reduction::copy(own, source, bytes);
  }
  bool next(eager::Wanted& wanted) {
    while (!copy_.next(wanted)) {
      if (!to_next_rank()) return false;
      if (equal_) {
        copy_ = {rank_, receive().bytes};
        destination_ = receive().at(static_cast<std::size_t>(rank_));
        continue;
      }
      wanted = {rank_};
      return true;
    }
    return true;
  }
  void take(const eager::Wanted&) {
    const auto i = static_cast<std::size_t>(rank_);
    if (equal_)
      destination_ = copy_.take(operation_, destination_);
    else
      PackedBlocks(operation_).open(rank_, 0, receive().at(i), receive().size(i));
  }
  void end() {
    if (all_seen_) operation_.seen_all();
  }

 private:
  const Blocks& receive() const { return arguments_.receive; }
  /// That has a block for this one.
  bool to_next_rank() {
    const Communicator& communicator = operation_.communicator();
    do {
      if (++rank_ == communicator.size()) rank_ = 0;
      if (rank_ == communicator.rank()) return false;
      if (receive().size(static_cast<std::size_t>(rank_)) != 0) return true;
      all_seen_ = false;
    } while (true);
  }

  Operation& operation_;
  const AllgatherArguments& arguments_;
  bool equal_;
  int rank_;  ///< whose block is being taken
  eager::CopyOut copy_;
  std::byte* destination_ = nullptr;
  bool all_seen_ = true;
};

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
    eager::forms<Exchange, AllgatherArguments>()};

}  // namespace tutti
