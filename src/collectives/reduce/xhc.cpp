// Reduce along the hierarchy, pipelined, members of a group sharing the work by index ranges (XHC, section IV.B).
//
// Phase 1: every rank exposes its buffers; small contributions are copied into the slots. Phase 2: each group reduces
// into its leader's buffer, chunk by chunk, level upon level. Phase 3: a rank leaves when its group has read its data.
// Cost: two flag hops a level, then n bytes from every member of the largest group, divided among its workers.
// Requires: nothing. For operators that do not commute groups are of consecutive ranks.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/xhc_reduce.h"

namespace tutti {

namespace {

Task xhc_body(Operation& operation, const ReduceArguments& arguments) {
  const bool is_root = operation.communicator().rank() == arguments.root;
  const XhcReduction reduction = xhc_expose(operation, arguments, is_root, arguments.root);
  co_await xhc_reduce(operation, reduction, nullptr);
  if (is_root)
    collect_result(reduction.buffers);
  else
    co_await xhc_wait_until_read(operation, reduction);
}

}  // namespace

selection::Algorithm<ReduceArguments> reduce_xhc{
    "xhc",
    {"2 a level", "n of each member of a group, divided among the members", "XHC IV.B"},
    selection::requires_nothing,
    [](const selection::Shape& shape) { return xhc_cost(shape, XhcResult::root); },
    {xhc_body, xhc_flags}};

}  // namespace tutti
