// Scatter, flat, single copy, the root copies too.
//
// Phase 1: the root exposes its blocks and says from where on it copies itself; every reader exposes its buffer.
// Phase 2: each reader copies the front of its block; the root copies its own block, then stores the back part of each
// reader's block into the buffers that it can store to. Phase 3: all wait until the root and the readers have finished.
// Cost: two flag hops; n (1 - 1/4p) bytes copied by every rank, the root included, in place n (1 - 1/2p), where reads
// alone copy n.
// Requires: equal blocks, at most TUTTI_FLAT_MAX ranks. The reads are those of CMA-aware, section IV.A.1; the root's
// part is ours.

#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/rooted.h"

namespace tutti {

namespace {

/// What the root stores of each block. Storing to another core's memory takes up to twice as long as reading from it
/// (where they share no cache), so it gets half of an equal share; a quarter if its own block has to be copied as well.
std::size_t root_part(const ScatterArguments& arguments, int ranks) {
  const std::size_t equal = arguments.bytes / static_cast<std::size_t>(ranks);
  return arguments.receive ? equal / 4 : equal / 2;
}

Task root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t middle = root_part_begins(arguments.bytes, root_part(arguments, communicator.size()));
  // Before the post: who sees that sees this.
  operation.own().ready.flag[0].set(operation.stamp(middle / grain_bytes));
  post_blocks(operation, arguments.send, ranks, Side::source, false, arguments.root);
  keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(reader).post.flag, 0, reader);
    const memory::Region region = posted_destination(operation, reader);
    const std::size_t end = std::min<std::size_t>(arguments.bytes, operation.slot(reader).post.regions.bytes);
    if (region.loads_and_stores() && middle < end)
      communicator.peer(reader).copy_to(region, middle, arguments.send.at(static_cast<std::size_t>(reader)) + middle,
                                        end - middle, arguments.store);
    // One flag a reader: nobody waits for the root's copies to the others.
    operation.publish(operation.own().done.flag[0], static_cast<std::uint64_t>(i));
  }
  communicator.seen_all(operation.sequence());
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(reader).done.flag[0], 0, reader);
  }
}

Task reader(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  const memory::Region reachable = communicator.node().reachable(arguments.receive, arguments.bytes);
  const bool root_stores = reachable.loads_and_stores();
  operation.own().post.regions.bytes = arguments.bytes;
  post(operation, {}, root_stores ? Exposure{reachable, arguments.receive, false, false} : Exposure{});

  co_await operation.has(operation.slot(root).post.flag, 0, root);
  const std::size_t middle = (operation.slot(root).ready.flag[0].get() & sync::progress_max) * grain_bytes;
  const RemoteBlock block = posted_block(operation, root, static_cast<std::size_t>(communicator.rank()), Side::source);
  const std::size_t end = fitting(communicator, block.bytes, arguments.bytes);
  if (const std::size_t bytes = root_stores ? std::min(middle, end) : end)
    communicator.peer(root).copy_from(block.region, block.offset, arguments.receive, bytes, arguments.store);
  operation.publish(operation.own().done.flag[0]);
  const int distance = distance_of(communicator.rank(), root, communicator.size());
  if (root_stores && middle < end)
    co_await operation.has(operation.slot(root).done.flag[0], static_cast<std::uint64_t>(distance), root);
}

void run(Communicator& communicator, const ScatterArguments& arguments) {
  Operation operation(communicator, "Scatter");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : reader(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> scatter_cooperative;
const selection::Algorithm<ScatterArguments> scatter_cooperative{
    "cooperative", "equal blocks, at most TUTTI_FLAT_MAX ranks",
    [](const selection::Shape& shape) {
      return shape.regular && static_cast<std::size_t>(shape.ranks) <= shape.flat_max;
    },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      // The root stores only where buffers are mapped.
      const double part = shape.reach == selection::Reach::mapped ? 1.0 - 0.25 / shape.ranks : 1.0;
      const double stored = bytes * (shape.ranks - 1) * (1 - part);
      return selection::Cost{.hops = 3.0 + 0.4 * shape.ranks,
                             .rounds = 2,
                             .remote_bytes = bytes * part,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 2,
                             .startups = 1,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes, .remote_bytes = stored, .written_bytes = stored}};
    },
    run};

}  // namespace tutti
