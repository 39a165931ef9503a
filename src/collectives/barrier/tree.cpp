// Barrier along the hierarchy.
//
// Phase 1, upwards: a rank waits for its children of every level, then sets its own flag. Phase 2, downwards: the root
// releases its children, each releases its own.
// Cost: two flag hops a level. Messages between sockets and NUMA nodes are as few as the hierarchy has groups.
// Requires: nothing. XHC, sections III.A and III.E.

#include "collectives/algorithm.h"

namespace tutti {

namespace {

Task tree_body(Operation& operation, const BarrierArguments&) {
  const topology::RankPlan& plan = operation.communicator().plan(0);
  for (const auto& children : plan.children)
    for (const int child : children) co_await operation.posted(child);
  operation.publish(operation.own().post.flag);
  if (plan.parent >= 0) co_await operation.done(plan.parent);
  operation.publish_done();
}

}  // namespace

selection::Algorithm<BarrierArguments> barrier_tree{
    "tree",
    {"2 a level", "", "XHC III.A, III.E"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      return selection::Cost{
          .hops = 2.0 * shape.levels + selection::there_and_back * selection::further_children(shape),
          .rounds = 2.0 * shape.levels,
          .across = selection::Across::levels};
    },
    {tree_body, only_done}};

}  // namespace tutti
