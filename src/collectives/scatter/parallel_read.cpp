// Scatter, flat, single copy: all read at once.
//
// Phase 1: the root exposes its blocks. Phase 2: every rank reads its block from the root's buffer while the root
// copies its own. Phase 3: the root waits until all have read, unless what they read is a copy in its slot.
// Cost: two flag hops; n bytes copied by every rank. The kernel's copies contend for the root's pages:
// alpha + n beta + l gamma(p-1) n/s.
// Requires: nothing; the sizes of Scatterv are announced by the root. CMA-aware, section IV.A.1.

#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/rooted.h"

namespace tutti {

namespace {

Task root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const ExposedBlocks mine =
      post_blocks(operation, arguments.send, ranks, Side::source, !arguments.regular, arguments.root);
  keep_own_block(communicator, arguments);
  if (mine.exposure.in_the_ring) co_return;
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    if (arguments.send.size(static_cast<std::size_t>(reader)) == 0) continue;
    co_await operation.has(operation.slot(reader).done.flag[0], 0, reader);
  }
  if (arguments.regular) communicator.seen_all(operation.sequence());
}

Task reader(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  if (arguments.bytes > 0) {
    co_await operation.has(operation.slot(arguments.root).post.flag, 0, arguments.root);
    const RemoteBlock block =
        posted_block(operation, arguments.root, static_cast<std::size_t>(communicator.rank()), Side::source);
    if (const std::size_t bytes = fitting(communicator, block.bytes, arguments.bytes))
      communicator.peer(arguments.root)
          .copy_from(block.region, block.offset, arguments.receive, bytes, arguments.store);
  }
  operation.publish(operation.own().done.flag[0]);
}

void run(Communicator& communicator, const ScatterArguments& arguments) {
  Operation operation(communicator, "Scatter");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : reader(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> scatter_parallel_read;
const selection::Algorithm<ScatterArguments> scatter_parallel_read{
    "parallel-read", "nothing", [](const selection::Shape&) { return true; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             .rounds = 2,
                             .remote_bytes = bytes,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 1,
                             .startups = 1,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes}};
    },
    run};

}  // namespace tutti
