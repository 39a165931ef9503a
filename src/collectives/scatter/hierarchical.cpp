// Scatter along the hierarchy, for many ranks and small blocks.
//
// Phase 1: the root puts its blocks into its slot, or exposes its buffer if they do not fit. Phase 2: the leader of
// each group reads the blocks of all ranks below it, in rank order, as long runs where they are neighbours, and lends
// them to its group; a rank that leads nobody reads its own. Phase 3: nobody waits for readers of slots; for others,
// the owner does. When all blocks fit into the flag's own line, that line is handed down whole.
// Cost: one flag hop a level, two where buffers are read directly; a leader moves the blocks of all below it, n each.
// Requires: equal blocks. The hierarchy is XHC's (section III.A), two-level forms are in CMA-aware, section VII.G.

#include "collectives/algorithm.h"
#include "collectives/common/eager.h"
#include "collectives/common/trees/branches.h"

namespace tutti {

namespace {

Task hierarchical_body_inline(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const topology::RankPlan& plan = communicator.plan(arguments.root);
  const auto own = static_cast<std::size_t>(communicator.rank());
  const std::size_t bytes = arguments.bytes;
  Post& mine = operation.own().post;
  if (plan.parent < 0) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(communicator.size()); ++i)
      if (i != own) copy_bytes(mine.payload + i * bytes, arguments.send.at(i), bytes);
    operation.publish(mine.flag, 1);
    keep_own_block(communicator, arguments);
    co_return;
  }
  const Post& theirs = operation.slot(plan.parent).post;
  co_await operation.has(theirs.flag, 1, plan.parent);
  communicator.peer(plan.parent)
      .loaded(bytes * (plan.child_count > 0 ? static_cast<std::size_t>(communicator.size()) : 1));
  if (plan.child_count > 0) {
    copy_bytes(mine.payload, theirs.payload, bytes * static_cast<std::size_t>(communicator.size()));
    operation.publish(mine.flag, 1);
  }
  copy_bytes(arguments.receive, theirs.payload + own * bytes, bytes);
}

/// Reads the blocks at places [begin, end) of this rank's branch from the parent: co_await operation.copied().
void read(Operation& operation, const topology::RankPlan& plan, std::size_t begin, std::size_t end, std::size_t bytes,
          std::byte* destination) {
  PulledRuns runs(operation.peer(plan.parent), memory::Store::cached);
  const bool joined = operation.slot(plan.parent).post.regions.stride == bytes;
  for_each_run(plan.own.places, begin, end, joined, [&](std::size_t first, std::size_t count) {
    const auto place = static_cast<std::size_t>(plan.own.places[first]);
    const RemoteBlock block = posted_block(operation, plan.parent, place, Side::source);
    runs.add(block.region, block.offset, destination + (first - begin) * bytes, count * bytes);
  });
  runs.pull();
}

/// Reads what is for this rank and all below it, and lends it to the children.
Task take(Operation& operation, const topology::RankPlan& plan, const ScatterArguments& arguments, Exposure& area) {
  const std::size_t bytes = arguments.bytes;
  const std::size_t count = plan.own.ranks.size();
  const auto at = static_cast<std::size_t>(std::lower_bound(plan.own.ranks.begin(), plan.own.ranks.end(), plan.rank) -
                                           plan.own.ranks.begin());
  if (count > 1) {
    area = lend(operation, count * bytes);
    read(operation, plan, 0, at, bytes, area.local);
    read(operation, plan, at + 1, count, bytes, area.local + (at + 1) * bytes);
    co_await operation.copied();
    Post& mine = operation.own().post;
    mine.regions.bytes = mine.regions.stride = bytes;
    post(operation, area, {});
  }
  read(operation, plan, at, at + 1, bytes, arguments.receive);
  co_await operation.copied();
  operation.publish_done();
}

Task body_by_regions(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const topology::RankPlan& plan = communicator.plan(arguments.root);
  Exposure mine;
  if (plan.parent < 0) {
    mine = post_blocks(operation, {arguments.send, static_cast<std::size_t>(communicator.size()), Side::source, true,
                                   arguments.root})
               .exposure;
    keep_own_block(communicator, arguments);
  } else {
    co_await operation.posted(plan.parent);
    co_await take(operation, plan, arguments, mine);
  }
  if (mine.in_the_ring) co_return;
  for (const topology::Branch& branch : plan.branches) co_await operation.done(branch.rank);
}

Task hierarchical_body(Operation& operation, const ScatterArguments& arguments) {
  const bool fits = eager::fits_inline(arguments.bytes * static_cast<std::size_t>(operation.communicator().size()));
  return fits ? hierarchical_body_inline(operation, arguments) : body_by_regions(operation, arguments);
}

}  // namespace

selection::Algorithm<ScatterArguments> scatter_hierarchical{
    "hierarchical",
    {"1 a level, 2 if not in a slot", "n, leaders what is for all below them", "XHC III.A, CMA-aware VII.G"},
    selection::requires_equal_blocks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double all = bytes * shape.ranks;
      const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
      const bool in_slot = all <= static_cast<double>(shape.slot_bytes);
      // Of a branch of the root its leader reads all blocks at once, as one run before its own and one behind it.
      // What is below has been lent by leaders, who have as many children as others.
      const topology::Branching branching = shape.branching();
      const double from_root = branching.on_the_way > 0 ? branching.largest : 1;
      const double below = 1 + branching.on_the_way - from_root;
      return selection::Cost{.hops = hierarchical_hops(shape, selection::many_look) + (in_slot ? 0.0 : 1.0),
                             .rounds = shape.levels + (in_slot ? 0.0 : 1.0),
                             .remote_bytes = bytes * (from_root + below),
                             .slot_bytes = in_slot || reach == selection::Reach::staged ? all : 0.0,
                             .left_bytes = in_slot ? 0.0 : bytes * (shape.ranks - 1),
                             .exposures = static_cast<double>(shape.levels),
                             .startups = reach != selection::Reach::kernel ? 0.0
                                         : from_root > 1                   ? 3.0
                                                                           : 1.0,
                             .by_kernel = reach == selection::Reach::kernel,
                             .lent_bytes = bytes * below,
                             .concurrency = branching.group - 1,
                             .crowded_bytes = bytes * from_root,
                             .crowd = (shape.ranks - 1) / from_root,
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes},
                             .across = selection::Across::levels};
    },
    {hierarchical_body, only_done}};

}  // namespace tutti
