// Bcast along the hierarchy, pull-based and pipelined (XHC, section IV.A).
//
// Phase 1: every rank that has children exposes its buffer. Phase 2: each rank copies chunk by chunk from its parent's
// buffer as the parent's flag advances, and advances its own flag. Phase 3: a rank waits until its children have read.
// Small messages go through the slots (copy-in/copy-out), the smallest in the flag's own line; then nobody
// acknowledges.
// Cost: one flag hop a level and the first chunk of each level, then n bytes at the slowest level.
// Requires: nothing. With TUTTI_HIERARCHY=flat this is the paper's XHC-flat.

#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/common/eager.h"
#include "collectives/common/trees/pull.h"

namespace tutti {

namespace {

/// The smallest messages: the payload is handed down in the flags' own lines.
Task xhc_body_inline(Operation& operation, const BcastArguments& arguments) {
  const topology::RankPlan& plan = operation.communicator().plan(arguments.root);
  Post& mine = operation.own().post;
  if (plan.parent >= 0) {
    const Post& theirs = operation.slot(plan.parent).post;
    co_await operation.posted(plan.parent, 1);
    copy_bytes(arguments.buffer, theirs.payload, arguments.bytes);
    operation.communicator().peer(plan.parent).loaded(arguments.bytes);
  }
  if (plan.child_count == 0) co_return;
  copy_bytes(mine.payload, arguments.buffer, arguments.bytes);
  operation.publish(mine.flag, 1);
}

Task xhc_body(Operation& operation, const BcastArguments& arguments) {
  if (eager::fits_inline(arguments.bytes)) return xhc_body_inline(operation, arguments);
  Communicator& communicator = operation.communicator();
  const bool eager = arguments.bytes <= communicator.node().settings.eager_max;
  const topology::RankPlan& plan = communicator.plan(arguments.root);
  TreePlace place = place_in(operation, plan);
  place.chunk_bytes = communicator.chunk_bytes(std::max(plan.parent_level, 0), arguments.bytes);
  return pull_down(operation, arguments, place, eager);
}

}  // namespace

selection::Algorithm<BcastArguments> bcast_xhc{
    "xhc",
    {"1 a level, and back", "n, chunk by chunk", "XHC IV.A"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const bool eager = shape.bytes <= shape.eager_max;
      const double levels = shape.levels;
      // Below the first level a rank has to wait for each chunk, and for the first one of all levels.
      const auto chunk = static_cast<double>(usual_chunk_bytes(shape.levels, shape.bytes));
      const double chunks = levels > 1 ? levels - 1 + std::max(1.0, bytes / chunk) : 1.0;
      const bool staged = shape.reach == selection::Reach::staged;
      const double children = shape.branching().children;
      // The flag, and the slot with what does not come in its line.
      const double lines = eager && shape.bytes > eager::first_line_bytes ? 2 : 1;
      return selection::Cost{
          .hops = (eager ? 1.1 : 2.1) * levels + lines * selection::many_look * selection::further_children(shape),
          .rounds = (eager ? 1.0 : 2.0) * levels,
          .copied_bytes = eager                  ? bytes * (levels - 1)
                          : staged && levels > 1 ? bytes
                                                 : 0.0,
          .remote_bytes = eager ? bytes * levels : bytes + (levels - 1) * std::min(bytes, chunk),
          .slot_bytes = eager || staged ? bytes : 0.0,
          .left_bytes = eager ? 0.0 : bytes,
          .exposures = eager ? 0.0 : 2.0,
          .startups = eager ? 0.0 : chunks,
          .concurrency = children,
          // Through slots it is copied once more.
          .workers = eager ? (shape.ranks + levels - 1) / (2 * levels) : shape.ranks - 1.0,
          .common = true,
          .across = selection::Across::levels};
    },
    {xhc_body, pull_flags},
    {.lends = Readers::many}};

}  // namespace tutti
