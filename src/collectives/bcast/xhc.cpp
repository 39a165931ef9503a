// Bcast along the hierarchy, pull-based and pipelined (XHC, section IV.A).
//
// Phase 1: every rank that has children exposes its buffer. Phase 2: each rank copies chunk by chunk from its parent's
// buffer as the parent's flag advances, and advances its own flag. Phase 3: a rank waits until its children have read.
// Small messages go through the slots (copy-in/copy-out), the smallest in the flag's own line; then nobody acknowledges.
// Cost: one flag hop a level and the first chunk of each level, then n bytes at the slowest level.
// Requires: nothing. With TUTTI_HIERARCHY=flat this is the paper's XHC-flat.

#include "collectives/collectives.h"
#include "collectives/common/eager.h"
#include "collectives/common/exposure.h"

namespace tutti {

namespace {

/// The smallest messages: the payload is handed down in the flags' own lines.
Task body_inline(Operation& operation, const BcastArguments& arguments) {
  const topology::RankPlan& plan = operation.communicator().plan(arguments.root);
  Post& mine = operation.own().post;
  if (plan.parent >= 0) {
    const Post& theirs = operation.slot(plan.parent).post;
    co_await operation.has(theirs.flag, 1, plan.parent);
    std::memcpy(arguments.buffer, theirs.payload, arguments.bytes);
  }
  if (plan.child_count == 0) co_return;
  std::memcpy(mine.payload, arguments.buffer, arguments.bytes);
  operation.publish(mine.flag, 1);
}

Task body(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const topology::RankPlan& plan = communicator.plan(arguments.root);
  const std::size_t bytes = arguments.bytes;
  const bool eager = bytes <= communicator.node().settings.eager_max;
  Exposure mine{{}, arguments.buffer, false, true};
  if (plan.child_count > 0) {
    mine = expose(operation, arguments.buffer, bytes, Side::source, eager);
    post(operation, mine, {});
  }
  sync::Flag& own_progress = operation.own().ready.flag[0];
  if (plan.parent < 0 && !mine.copied) {
    operation.publish(own_progress, grains_complete(bytes, bytes));
  } else {
    const std::size_t chunk = communicator.chunk_bytes(plan.parent < 0 ? 0 : plan.parent_level);
    for (std::size_t at = 0; at < bytes; at += chunk) {
      const std::size_t end = std::min(at + chunk, bytes);
      if (plan.parent >= 0) {
        const Slot& parent = operation.slot(plan.parent);
        co_await operation.has(parent.ready.flag[0], grains_needed(end), plan.parent);
        communicator.peer(plan.parent)
            .copy_from(posted_source(operation, plan.parent), at, mine.local + at, end - at,
                       plan.child_count ? memory::Store::cached : arguments.store);
      } else {
        std::memcpy(mine.local + at, arguments.buffer + at, end - at);
      }
      if (plan.child_count > 0) operation.publish(own_progress, grains_complete(end, bytes));
      if (plan.parent >= 0 && mine.copied) std::memcpy(arguments.buffer + at, mine.local + at, end - at);
    }
  }
  if (plan.parent >= 0) operation.publish(operation.own().done.flag[0]);
  if (mine.in_the_ring) co_return;
  for (const auto& children : plan.children)
    for (const int child : children) co_await operation.has(operation.slot(child).done.flag[0], 0, child);
}

void run(Communicator& communicator, const BcastArguments& arguments) {
  Operation operation(communicator, "Bcast");
  operation.run(eager::fits_inline(arguments.bytes) ? body_inline(operation, arguments) : body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<BcastArguments> bcast_xhc;
const selection::Algorithm<BcastArguments> bcast_xhc{
    "xhc", "nothing", [](const selection::Shape&) { return true; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const bool eager = shape.bytes <= shape.eager_max;
      const double levels = shape.levels;
      return selection::Cost{.hops = (eager ? 1.0 : 2.0) * levels + 0.05 * shape.ranks / levels,
                             .rounds = (eager ? 1.0 : 2.0) * levels,
                             .copied_bytes = eager ? bytes * levels : 0,
                             .remote_bytes = eager ? bytes * levels : bytes,
                             .exposures = eager ? 0.0 : 2.0};
    },
    run};

}  // namespace tutti
