// Allreduce along the hierarchy: a reduction to an internal root and a broadcast that overlaps with it, both pipelined
// (XHC, section IV.B).
//
// Phase 1: every rank exposes its buffers. Phase 2: groups reduce into their leaders' buffers (see xhc_reduce.h). Phase
// 3, at the same time: each rank copies final chunks from its parent's buffer and hands them on to its children.
// Cost: three flag hops a level, then n bytes from each member of the largest group divided among its workers, and n
// bytes.
// Requires: nothing. For operators that do not commute groups are of consecutive ranks on the way up.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/xhc_reduce.h"

namespace tutti {

namespace {

constexpr int internal_root = 0;

/// Grains of the final result that a rank's destination holds.
constexpr FlagName result{Line::ready, 14};
constexpr FlagSet allreduce_xhc_flags = FlagSet::of(xhc_flags, result, done_flag);

/// Phase 3 on a rank that is not the root.
Task hand_down(Operation& operation, const XhcReduction& reduction) {
  Communicator& communicator = operation.communicator();
  const topology::RankPlan& plan = communicator.plan(internal_root);
  const int parent = plan.parent;
  const std::size_t chunk = communicator.chunk_bytes(plan.parent_level, reduction.bytes);
  for (std::size_t at = 0; at < reduction.bytes; at += chunk) {
    const std::size_t end = std::min(at + chunk, reduction.bytes);
    co_await operation.has(parent, result, grains_needed(end));
    operation.peer(parent).copy_from(posted_destination(operation, parent), at,
                                     reduction.buffers.destination.local + at, end - at);
    co_await operation.copied();
    if (plan.child_count > 0) operation.publish(result, grains_complete(end, reduction.bytes));
  }
}

Task xhc_body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const XhcReduction reduction = xhc_expose(operation, arguments, true, internal_root);
  if (communicator.rank() == internal_root)
    co_await xhc_reduce(operation, reduction, &result);
  else
    co_await operation.both(xhc_reduce(operation, reduction, nullptr), hand_down(operation, reduction));
  collect_result(reduction.buffers);
  // Final data everywhere above means that nobody reads contributions any more; children may still read our result.
  operation.publish_done();
  if (reduction.buffers.destination.in_the_ring) co_return;
  for (const auto& children : communicator.plan(internal_root).children)
    for (const int child : children) co_await operation.done(child);
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_xhc{
    "xhc",
    {"3 a level", "as Reduce, and n down the tree at the same time", "XHC IV.B"},
    selection::requires_nothing,
    [](const selection::Shape& shape) { return xhc_cost(shape, XhcResult::all); },
    {xhc_body, allreduce_xhc_flags}};

}  // namespace tutti
