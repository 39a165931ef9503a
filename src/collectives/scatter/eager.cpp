// Scatter of small blocks, flat, copy-in/copy-out.
//
// Phase 1: the root copies the others' blocks, one behind the other, into its slot, grain by grain; into the flag's own
// line when all of them fit. Phase 2: each rank copies its own out. No acknowledgement: the ring of slots lets the root
// go on.
// Cost: one flag hop; (p-1) n bytes copied in by the root, n out by each.
// Requires: equal blocks, (p-1) n bytes in the data area, at most TUTTI_FLAT_MAX ranks. After XHC, section III.D.

#include "collectives/common/eager.h"

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// What lies in the slot: all blocks but the root's.
struct Layout {
  std::size_t bytes, total;
  int root;

  Layout(const ScatterArguments& arguments, int ranks)
      : bytes(arguments.bytes), total(bytes * static_cast<std::size_t>(ranks - 1)), root(arguments.root) {}
  std::size_t offset(int rank) const { return bytes * static_cast<std::size_t>(rank < root ? rank : rank - 1); }
};

/// Copies what it is given behind what it got before, and publishes whole grains.
class Sender {
 public:
  Sender(const OperationView& operation, std::size_t total)
      : operation_(operation),
        post_(operation.own().post),
        data_(eager::fits_inline(total) ? post_.payload : operation.own_data()),
        total_(total) {}

  void add(const std::byte* source, std::size_t bytes) {
    if (eager::fits_inline(total_)) {
      reduction::copy(data_ + at_, source, bytes);
      at_ += bytes;
      return;
    }
    for (const std::size_t end = at_ + bytes; at_ < end;) {
      const std::size_t part = std::min(end - at_, grain_bytes - at_ % grain_bytes);
      reduction::copy(data_ + at_, source, part);
      source += part;
      at_ += part;
      post_.flag.set(operation_.stamp(grains_complete(at_, total_)));
    }
  }
  void complete() {
    if (eager::fits_inline(total_)) post_.flag.set(operation_.stamp(1));
    operation_.communicator().published();
    if (!eager::fits_inline(total_)) operation_.expect_data(total_);
  }

 private:
  const OperationView& operation_;
  Post& post_;
  std::byte* data_;
  std::size_t total_;
  std::size_t at_ = 0;
};

class EagerScatter {
 public:
  EagerScatter(const OperationView& operation, const ScatterArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        layout_(arguments, operation.communicator().size()),
        destination_(arguments.receive),
        copy_(arguments.root, layout_.total, begin(), is_root() ? begin() : begin() + layout_.bytes) {}
  static std::size_t payload(const Communicator& communicator, const ScatterArguments& arguments) {
    return Layout(arguments, communicator.size()).total;
  }

  void send() {
    if (!is_root()) return;
    const Blocks& blocks = arguments_.send;
    const auto root = static_cast<std::size_t>(arguments_.root);
    const std::size_t behind = static_cast<std::size_t>(operation_.communicator().size()) - root - 1;
    Sender sender(operation_, layout_.total);
    if (blocks.stride == blocks.bytes) {
      if (root > 0) sender.add(blocks.base, root * blocks.bytes);
      if (behind > 0) sender.add(blocks.at(root + 1), behind * blocks.bytes);
    } else {
      for (std::size_t i = 0; i <= root + behind; ++i)
        if (i != root) sender.add(blocks.at(i), blocks.bytes);
    }
    sender.complete();
    if (arguments_.receive) reduction::copy(arguments_.receive, blocks.at(root), blocks.bytes);
  }
  bool next(eager::Wanted& wanted) { return copy_.next(wanted); }
  void take(const eager::Wanted&) { destination_ = copy_.take(operation_, destination_); }
  void end() {}

 private:
  bool is_root() const { return operation_.communicator().rank() == arguments_.root; }
  std::size_t begin() const { return layout_.offset(operation_.communicator().rank()); }

  OperationView operation_;
  const ScatterArguments& arguments_;
  Layout layout_;
  std::byte* destination_;
  eager::CopyOut copy_;
};

}  // namespace

selection::Algorithm<ScatterArguments> scatter_eager{
    "eager",
    {"1", "(p-1) n in at the root, n out; up to 112 bytes travel with the flag", "XHC III.D"},
    {"equal blocks that fit into a data area together, at most TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) {
       return shape.regular && shape.few_ranks() && shape.bytes <= shape.slot_bytes &&
              static_cast<std::size_t>(shape.ranks - 1) * shape.bytes <= shape.slot_bytes;
     }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{// The root's flag, and beyond the first blocks the line of the own one.
                             .hops = 1.4 + 2 * selection::many_look * selection::further_ranks(shape),
                             .rounds = 1,
                             // All read when the root has written, those of a core one after the other.
                             .remote_bytes = bytes * std::max(1.0, shape.ranks_per_core),
                             .concurrency = others,
                             .workers = 1,
                             // The root goes on while they copy out of the slot.
                             .beside = {.slot_bytes = bytes * others}};
    },
    eager::forms<EagerScatter, ScatterArguments>()};

}  // namespace tutti
