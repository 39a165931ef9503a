// Reduce along the hierarchy, pipelined, members of a group sharing the work by index ranges (XHC, section IV.B).
//
// Phase 1: every rank exposes its buffers; small contributions are copied into the slots. Phase 2: each group reduces
// into its leader's buffer, chunk by chunk, level upon level. Phase 3: a rank leaves when its group has read its data.
// Cost: two flag hops a level, then n bytes from every member of the largest group, divided among its workers.
// Requires: an operator that commutes, since groups are not made of neighbouring ranks.

#include <cmath>

#include "collectives/collectives.h"
#include "collectives/common/reducing/xhc_reduce.h"

namespace tutti {

namespace {

Task body(Operation& operation, const ReduceArguments& arguments) {
  const bool is_root = operation.communicator().rank() == arguments.root;
  const XhcReduction reduction = xhc_expose(operation, arguments.send, arguments.receive, is_root, arguments.count,
                                            *arguments.combiner, arguments.root);
  co_await xhc_reduce(operation, reduction, nullptr);
  if (is_root)
    collect_result(reduction.buffers);
  else
    co_await xhc_wait_until_read(operation, reduction);
}

void run(Communicator& communicator, const ReduceArguments& arguments) {
  Operation operation(communicator, "Reduce");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ReduceArguments> reduce_xhc;
const selection::Algorithm<ReduceArguments> reduce_xhc{
    "xhc", "an operator that commutes", [](const selection::Shape& shape) { return shape.commutative; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double levels = shape.levels;
      const bool eager = shape.bytes <= shape.eager_max;
      const double members = std::pow(shape.ranks, 1 / levels);
      return selection::Cost{.hops = 2.0 * levels + 0.1 * shape.ranks / levels,
                             .rounds = 1 + 2 * levels,
                             .remote_bytes = 1.2 * bytes,
                             .slot_bytes = eager                                     ? bytes
                                           : shape.reach == selection::Reach::staged ? 2 * bytes
                                                                                     : 0.0,
                             .reduced_bytes = 1.2 * bytes,
                             .exposures = 2,
                             .startups = eager ? 0.0 : levels * members + 1.2 * bytes / usual_block_bytes,
                             .concurrency = members,
                             .across = selection::Across::levels};
    },
    run};

}  // namespace tutti
