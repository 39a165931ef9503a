// Scatter of small blocks, flat, copy-in/copy-out.
//
// Phase 1: the root copies the others' blocks, one behind the other, into its slot, grain by grain; into the flag's own
// line when all of them fit. Phase 2: each rank copies its own out. No acknowledgement: the ring of slots lets the root
// go on.
// Cost: one flag hop; (p-1) n bytes copied in by the root, n out by each.
// Requires: equal blocks, (p-1) n bytes in the data area, at most TUTTI_FLAT_MAX ranks. After XHC, section III.D.

#include "collectives/common/eager.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/common/trees/rooted.h"

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
  Sender(Communicator& communicator, std::uint64_t sequence, std::size_t total)
      : post_(communicator.slot(communicator.rank(), sequence).post),
        data_(eager::fits_inline(total) ? post_.payload : communicator.slot_data(communicator.rank(), sequence)),
        sequence_(sequence),
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
      post_.flag.set(sync::stamp(sequence_, grains_complete(at_, total_)));
    }
  }
  void finish() {
    if (eager::fits_inline(total_)) post_.flag.set(sync::stamp(sequence_, 1));
  }

 private:
  Post& post_;
  std::byte* data_;
  std::uint64_t sequence_;
  std::size_t total_;
  std::size_t at_ = 0;
};

void send(Communicator& communicator, std::uint64_t sequence, const ScatterArguments& arguments, const Layout& layout) {
  const Blocks& blocks = arguments.send;
  const auto root = static_cast<std::size_t>(arguments.root);
  const std::size_t behind = static_cast<std::size_t>(communicator.size()) - root - 1;
  Sender sender(communicator, sequence, layout.total);
  if (blocks.stride == blocks.bytes) {
    if (root > 0) sender.add(blocks.base, root * blocks.bytes);
    if (behind > 0) sender.add(blocks.at(root + 1), behind * blocks.bytes);
  } else {
    for (std::size_t i = 0; i <= root + behind; ++i)
      if (i != root) sender.add(blocks.at(i), blocks.bytes);
  }
  sender.finish();
  communicator.published();
  if (!eager::fits_inline(layout.total)) communicator.expect_data(sequence, layout.total);
  if (arguments.receive) reduction::copy(arguments.receive, blocks.at(root), blocks.bytes);
}

void receive(Communicator& communicator, std::uint64_t sequence, const ScatterArguments& arguments,
             const Layout& layout) {
  const std::size_t begin = layout.offset(communicator.rank());
  const std::size_t end = begin + layout.bytes;
  std::byte* destination = arguments.receive;
  for (std::size_t at = begin; at < end;) {
    const std::size_t next =
        eager::fits_inline(layout.total) ? end : std::min(end, (at / grain_bytes + 1) * grain_bytes);
    const std::byte* data = eager::receive(communicator, sequence, arguments.root, layout.total, next, "Scatter");
    reduction::copy(destination, data + at, next - at);
    destination += next - at;
    at = next;
  }
}

void run(Communicator& communicator, const ScatterArguments& arguments) {
  const Layout layout(arguments, communicator.size());
  const std::uint64_t sequence = eager::begin(communicator, layout.total);
  if (communicator.rank() == arguments.root)
    send(communicator, sequence, arguments, layout);
  else
    receive(communicator, sequence, arguments, layout);
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> scatter_eager;
const selection::Algorithm<ScatterArguments> scatter_eager{
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
      return selection::Cost{.hops = 1.2 + 0.1 * shape.ranks,
                             .rounds = 1,
                             // All read when the root has written, those of a core one after the other.
                             .remote_bytes = bytes * std::max(1.0, shape.ranks_per_core),
                             .slot_bytes = bytes * others,
                             .concurrency = others,
                             .workers = 1};
    },
    run};

}  // namespace tutti
