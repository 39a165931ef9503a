// Reduce of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank but the root copies its contribution into its slot and is done. Phase 2: the root combines all
// slots and its own contribution in one pass, in rank order.
// Cost: one flag hop, n bytes copied, p n bytes reduced at the root.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/collectives.h"
#include "collectives/common/reducing/eager_reduce.h"
#include "selection/looks.h"

namespace tutti {

namespace {

class EagerReduce {
 public:
  EagerReduce(const OperationView& operation, const ReduceArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        is_root_(operation.communicator().rank() == arguments.root),
        contributions_(operation, is_root_ ? operation.communicator().size() : 0, arguments.send, arguments.bytes()) {}
  static std::size_t payload(const Communicator&, const ReduceArguments& arguments) { return arguments.bytes(); }

  void send() {
    if (!is_root_) eager::send(operation_, arguments_.send, arguments_.bytes());
  }
  bool next(eager::Wanted& wanted) { return contributions_.next(wanted); }
  void take(const eager::Wanted& wanted) { contributions_.take(wanted); }
  void end() {
    if (!is_root_) return;
    operation_.seen_all();
    contributions_.combine(*arguments_.combiner, arguments_.receive, arguments_.count);
  }

 private:
  OperationView operation_;
  const ReduceArguments& arguments_;
  bool is_root_;
  eager::Contributions contributions_;
};

}  // namespace

extern const selection::Algorithm<ReduceArguments> reduce_eager;
const selection::Algorithm<ReduceArguments> reduce_eager{
    "eager",
    {"1", "n in, p n read by the root", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      // The root works alone: on a crowded core the others' turns are not added to its own.
      const double crowd = shape.oversubscribed() ? shape.ranks_per_core : 1;
      return selection::Cost{.hops = 1.2 + selection::one_looks * selection::further_ranks(shape),
                             .rounds = 1,
                             .remote_bytes = others * bytes / crowd,
                             // The others go on while the root reads their slots, if they have cores of their own.
                             .slot_bytes = shape.oversubscribed() ? bytes : 0.0,
                             .reduced_bytes = shape.ranks * bytes / crowd,
                             .streams = 1,
                             .beside = {.slot_bytes = shape.oversubscribed() ? 0.0 : bytes},
                             .across = selection::Across::all};
    },
    eager::forms<EagerReduce, ReduceArguments>()};

}  // namespace tutti
