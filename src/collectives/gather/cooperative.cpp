// Gather, flat, single copy, the root copies too.
//
// Phase 1: the root exposes where the blocks belong and says from where on it copies itself; every sender exposes its
// buffer. Phase 2: each sender writes the front of its block into the root's buffer; the root copies its own block,
// then reads the back part of each block whose buffer it can load from. Phase 3: all wait until the root and the
// senders have finished.
// Cost: two flag hops; n (1 - 3/4p) bytes copied by every rank but the root, in place n (1 - 5/4p), where writes alone
// copy n.
// Requires: equal blocks, at most TUTTI_FLAT_MAX ranks. The writes are those of CMA-aware, section IV.B.1; the root's
// part is ours.

#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/rooted.h"

namespace tutti {

namespace {

/// What the root reads of each block. Reading from another core's memory is up to twice as fast as storing to it (where
/// they share no cache), so it gets more than an equal share; less than one if its own block has to be copied as well.
std::size_t root_part(const GatherArguments& arguments, int ranks) {
  const std::size_t quarter = arguments.bytes / static_cast<std::size_t>(4 * ranks);
  return arguments.send ? 3 * quarter : 5 * quarter;
}

Task root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  // Blocks that are written into a copy are written whole.
  const bool takes_part = communicator.node().reach(arguments.receive.base) != memory::Kind::cma &&
                          written_in_place(communicator, arguments.receive, ranks, arguments.root);
  const std::size_t middle =
      root_part_begins(arguments.bytes, takes_part ? root_part(arguments, communicator.size()) : 0);
  // Before the post: who sees that sees this.
  operation.own().ready.flag[0].set(operation.stamp(middle / grain_bytes));
  const ExposedBlocks mine = post_blocks(operation, arguments.receive, ranks, Side::destination, false, arguments.root);
  keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(sender).post.flag, 0, sender);
    const memory::Region region = posted_source(operation, sender);
    const std::size_t end = fitting(communicator, operation.slot(sender).post.regions.bytes, arguments.bytes);
    if (region.loads_and_stores() && middle < end)
      communicator.peer(sender).copy_from(region, middle,
                                          arguments.receive.at(static_cast<std::size_t>(sender)) + middle, end - middle,
                                          arguments.store);
    // One flag a sender: nobody waits for the root's copies of the others' blocks.
    operation.publish(operation.own().done.flag[0], static_cast<std::uint64_t>(i));
  }
  communicator.seen_all(operation.sequence());
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(sender).done.flag[0], 0, sender);
  }
  collect_blocks(mine, arguments.receive, ranks, arguments.root);
}

Task sender(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  auto* source = const_cast<std::byte*>(arguments.send);
  const memory::Region reachable = communicator.node().reachable(source, arguments.bytes);
  const bool root_reads = reachable.loads_and_stores();
  operation.own().post.regions.bytes = arguments.bytes;
  post(operation, root_reads ? Exposure{reachable, source, false, false} : Exposure{}, {});

  co_await operation.has(operation.slot(root).post.flag, 0, root);
  const std::size_t middle = (operation.slot(root).ready.flag[0].get() & sync::progress_max) * grain_bytes;
  const RemoteBlock block =
      posted_block(operation, root, static_cast<std::size_t>(communicator.rank()), Side::destination);
  const std::size_t end = std::min(arguments.bytes, block.bytes);
  if (const std::size_t bytes = root_reads ? std::min(middle, end) : end)
    communicator.peer(root).copy_to(block.region, block.offset, source, bytes, arguments.store);
  operation.publish(operation.own().done.flag[0]);
  const int distance = distance_of(communicator.rank(), root, communicator.size());
  if (root_reads && middle < end)
    co_await operation.has(operation.slot(root).done.flag[0], static_cast<std::uint64_t>(distance), root);
}

void run(Communicator& communicator, const GatherArguments& arguments) {
  Operation operation(communicator, "Gather");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : sender(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_cooperative;
const selection::Algorithm<GatherArguments> gather_cooperative{
    "cooperative", "equal blocks, at most TUTTI_FLAT_MAX ranks",
    [](const selection::Shape& shape) {
      return shape.regular && static_cast<std::size_t>(shape.ranks) <= shape.flat_max;
    },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      // The root loads only where buffers are mapped.
      const double part = shape.reach == selection::Reach::mapped ? 1.0 - 0.75 / shape.ranks : 1.0;
      return selection::Cost{.hops = 3.0 + 0.4 * shape.ranks,
                             .rounds = 2,
                             .remote_bytes = bytes * part,
                             .written_bytes = bytes * part,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 2,
                             .startups = 1,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes, .remote_bytes = bytes * (shape.ranks - 1) * (1 - part)}};
    },
    run};

}  // namespace tutti
