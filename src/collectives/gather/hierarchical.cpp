// Gather along the hierarchy, for many ranks and small blocks.
//
// Phase 1: a rank that leads nobody puts its block into its slot (the smallest into the flag's own line), or exposes
// its buffer if it does not fit. Phase 2: the leader of each group puts the blocks of all ranks below it into its own
// slot, in rank order, as long runs where they are neighbours; what the slot cannot hold goes into its staging buffer.
// The root copies the runs to where they belong. Phase 3: who was read from its slot is done, others wait for their
// leader.
// Cost: one flag hop a level, two where buffers are read directly; a leader moves the blocks of all below it, n each.
// Requires: equal blocks. The hierarchy is XHC's (section III.A), two-level forms are in CMA-aware, section VII.G.

#include "collectives/algorithm.h"
#include "collectives/common/eager.h"
#include "collectives/common/trees/branches.h"

namespace tutti {

namespace {

std::size_t bytes_of(const topology::Branch& branch, std::size_t block_bytes) {
  return branch.ranks.size() * block_bytes;
}

/// Copies what `branch` has collected to where each block belongs: co_await operation.copied().
void take(Operation& operation, const topology::Branch& branch, const Blocks& destination) {
  const std::size_t bytes = destination.bytes;
  const memory::PeerTransfers peer = operation.peer(branch.rank);
  const bool in_line = eager::fits_inline(bytes_of(branch, bytes));
  const Post& post = operation.slot(branch.rank).post;
  for_each_run(branch.places, 0, branch.places.size(), destination.stride == bytes,
               [&](std::size_t first, std::size_t count) {
                 std::byte* to = destination.at(static_cast<std::size_t>(branch.places[first]));
                 if (in_line) {
                   copy_bytes(to, post.payload + first * bytes, count * bytes);
                   peer.peer.loaded(count * bytes);
                 } else {
                   peer.copy_from(posted_source(operation, branch.rank), first * bytes, to, count * bytes);
                 }
               });
}

/// Collects from all children; then they may go.
Task collect(Operation& operation, const topology::RankPlan& plan, const Blocks& destination) {
  for (const topology::Branch& branch : plan.branches) {
    const bool in_line = eager::fits_inline(bytes_of(branch, destination.bytes));
    co_await operation.posted(branch.rank, in_line ? 1 : 0);
    take(operation, branch, destination);
  }
  co_await operation.copied();
  operation.publish_done();
}

Task hierarchical_root(Operation& operation, const GatherArguments& arguments) {
  keep_own_block(operation.communicator(), arguments);
  co_await collect(operation, operation.communicator().plan(arguments.root), arguments.receive);
}

/// A rank with a parent: collects if it leads, and hands up.
Task member(Operation& operation, const GatherArguments& arguments) {
  const topology::RankPlan& plan = operation.communicator().plan(arguments.root);
  const std::size_t bytes = arguments.bytes;
  Post& mine = operation.own().post;
  const bool in_line = eager::fits_inline(bytes_of(plan.own, bytes));
  bool in_the_ring = true;
  if (plan.branches.empty() && !in_line) {
    const Blocks block = Blocks::regular(arguments.send, bytes);
    in_the_ring = post_blocks(operation, {block, 1, Side::source, true}).exposure.in_the_ring;
  } else {
    Exposure area{{}, mine.payload, true, true};
    if (!in_line) area = lend(operation, bytes_of(plan.own, bytes));
    const auto at = std::lower_bound(plan.own.ranks.begin(), plan.own.ranks.end(), plan.rank) - plan.own.ranks.begin();
    const Blocks blocks = Blocks::regular(area.local, bytes);
    copy_bytes(blocks.at(static_cast<std::size_t>(at)), arguments.send, bytes);
    co_await collect(operation, plan, blocks);
    if (in_line)
      operation.publish(mine.flag, 1);
    else
      post(operation, area, {});
    in_the_ring = area.in_the_ring;
  }
  if (!in_the_ring) co_await operation.done(plan.parent);
}

}  // namespace

selection::Algorithm<GatherArguments> gather_hierarchical{
    "hierarchical",
    {"1 a level, 2 if not in a slot", "n, leaders what is from all below them", "XHC III.A, CMA-aware VII.G"},
    selection::requires_equal_blocks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const bool in_slot = shape.bytes <= shape.slot_bytes;
      // The root reads all blocks. Those of leaves are where they are; what leaders have collected is lent.
      const topology::Branching branching = shape.branching();
      const double copied = shape.ranks - 1 + branching.on_the_way;
      const double of_leaves = branching.on_the_way > 0 ? std::min(copied, 2 * (branching.group - 1)) : copied;
      const bool by_kernel = shape.reach == selection::Reach::kernel && !in_slot;
      return selection::Cost{.hops = hierarchical_hops(shape, selection::one_looks) + (in_slot ? 0.0 : 1.0),
                             // Who is read directly waits for that.
                             .rounds = in_slot ? shape.levels : 2.0 + 2.0 * shape.levels,
                             .copied_bytes = bytes,  // the root's own block
                             .remote_bytes = bytes * copied,
                             // A leader reads when all have written, those of a core one after the other.
                             .slot_bytes = in_slot || shape.reach == selection::Reach::staged
                                               ? bytes * std::max(1.0, shape.ranks_per_core)
                                               : 0.0,
                             .left_bytes = in_slot ? 0.0 : bytes,
                             .exposures = static_cast<double>(shape.levels),
                             .startups = by_kernel ? of_leaves : 0.0,
                             .lent_bytes = bytes * (copied - of_leaves),
                             .workers = static_cast<double>(shape.levels),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .across = selection::Across::levels};
    },
    {rooted<hierarchical_root, member>, only_done}};

}  // namespace tutti
