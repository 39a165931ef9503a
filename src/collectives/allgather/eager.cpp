// Allgather of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its block into its slot (the smallest into the flag's own line). Phase 2: everybody copies
// the blocks of all others out, beginning with the next rank's. No acknowledgement: the ring of slots lets a rank go
// on. Blocks of Allgatherv travel packed, which says how long they are: a reader may have less room.
// Cost: one flag hop, n bytes copied in, (p - 1) n out; each rank's lines are read by p - 1.
// Requires: blocks of at most TUTTI_EAGER_MAX bytes, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/common/eager.h"

#include "collectives/algorithm.h"
#include "collectives/common/buffers/packed_blocks.h"

namespace tutti {

namespace {

/// This rank's own block and where it belongs.
struct Own {
  Own(const OperationView& operation, const AllgatherArguments& arguments)
      : destination(arguments.receive.at(static_cast<std::size_t>(operation.communicator().rank()))),
        source(arguments.send ? arguments.send : destination) {}
  void copy(std::size_t bytes) const {
    if (source != destination) reduction::copy(destination, source, bytes);
  }
  std::byte* destination;
  const std::byte* source;
};

/// Allgather.
class EqualBlocks {
 public:
  EqualBlocks(const OperationView& operation, const AllgatherArguments& arguments)
      : operation_(operation), arguments_(arguments), rank_(operation.communicator().next_rank()), copy_(0, 0) {
    open();
  }
  static std::size_t payload(const Communicator&, const AllgatherArguments& arguments) {
    return arguments.receive.bytes;
  }

  void send() {
    const Own own(operation_, arguments_);
    eager::send(operation_, own.source, arguments_.receive.bytes);
    own.copy(arguments_.receive.bytes);
  }
  bool next(eager::Wanted& wanted) {
    while (rank_ != operation_.communicator().rank()) {
      if (copy_.next(wanted)) return true;
      if (++rank_ == operation_.communicator().size()) rank_ = 0;
      open();
    }
    return false;
  }
  void take(const eager::Wanted&) { destination_ = copy_.take(operation_, destination_); }
  void end() {
    if (arguments_.receive.bytes > 0) operation_.seen_all();
  }

 private:
  void open() {
    copy_ = {rank_, arguments_.receive.bytes};
    destination_ = arguments_.receive.base + static_cast<std::size_t>(rank_) * arguments_.receive.stride;
  }

  OperationView operation_;
  const AllgatherArguments& arguments_;
  int rank_;  ///< whose block is being taken
  eager::CopyOut copy_;
  std::byte* destination_ = nullptr;
};

/// Allgatherv.
class EagerPacked {
 public:
  EagerPacked(const OperationView& operation, const AllgatherArguments& arguments)
      : operation_(operation), arguments_(arguments), rank_(operation.communicator().rank()) {}
  static std::size_t payload(const Communicator& communicator, const AllgatherArguments& arguments) {
    return std::min(arguments.bytes, arguments.receive.size(static_cast<std::size_t>(communicator.rank())));
  }

  void send() {
    const Own own(operation_, arguments_);
    const std::size_t bytes = payload(operation_.communicator(), arguments_);
    PackedBlocks packed(operation_);
    const PackedBlocks::Form form{eager::fits_inline(bytes) ? PackedBlocks::Place::post : PackedBlocks::Place::area,
                                  PackedBlocks::Sizes::same, bytes};
    packed.write(form, 0, own.source, bytes);
    packed.send(form, 1);
    own.copy(bytes);
  }
  /// The next rank that has a block for this one.
  bool next(eager::Wanted& wanted) {
    const Communicator& communicator = operation_.communicator();
    while (true) {
      if (++rank_ == communicator.size()) rank_ = 0;
      if (rank_ == communicator.rank()) return false;
      if (arguments_.receive.size(static_cast<std::size_t>(rank_)) != 0) break;
      all_seen_ = false;
    }
    wanted = {rank_};
    return true;
  }
  void take(const eager::Wanted&) {
    const auto i = static_cast<std::size_t>(rank_);
    PackedBlocks(operation_).open(rank_, 0, arguments_.receive.at(i), arguments_.receive.size(i));
  }
  void end() {
    if (all_seen_) operation_.seen_all();
  }

 private:
  OperationView operation_;
  const AllgatherArguments& arguments_;
  int rank_;  ///< whose block is being taken
  bool all_seen_ = true;
};

bool is_regular(const AllgatherArguments& arguments) {
  return arguments.receive.is_regular();
}

}  // namespace

selection::Algorithm<AllgatherArguments> allgather_eager{
    "eager",
    {"1", "n in, (p-1) n out", "XHC III.D"},
    {"blocks of at most TUTTI_EAGER_MAX bytes and TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) {
       return shape.bytes <= std::min(shape.eager_max, PackedBlocks::Form::bytes_max) && shape.few_ranks();
     }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double lines = shape.bytes > eager::first_line_bytes ? 2 : 1;
      return selection::Cost{
          // The flag, and the line with the rest of the block: each is copied before the next one is looked at.
          .hops = 1.2 + lines * selection::all_look * selection::further_ranks(shape),
          .rounds = 2,  // all wait for all
          .copied_bytes = bytes,
          .remote_bytes = (shape.ranks - 1) * bytes,
          .slot_bytes = bytes,
          .common = true,
          .across = selection::Across::all};
    },
    eager::forms_of_two<EqualBlocks, EagerPacked, is_regular, AllgatherArguments>()};

}  // namespace tutti
