// Allreduce of small messages: all read all.
//
// Phase 1: every rank copies its contribution into its slot (the smallest into the flag's own line). Phase 2: every
// rank combines all contributions in one pass, in rank order, so that all get the same bits.
// Cost: one flag hop, n bytes copied, (p - 1) n read from others, p n reduced by each rank.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D; that all
// combine, instead of a root that hands the result down, is ours.

#include "collectives/collectives.h"
#include "collectives/common/reducing/eager_reduce.h"
#include "selection/looks.h"

namespace tutti {

namespace {

class EagerAllreduce {
 public:
  EagerAllreduce(const OperationView& operation, const AllreduceArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        contributions_(operation, operation.communicator().size(), arguments.send, arguments.bytes()) {}
  static std::size_t payload(const Communicator&, const AllreduceArguments& arguments) { return arguments.bytes(); }

  void send() { eager::send(operation_, arguments_.send, arguments_.bytes()); }
  bool next(eager::Wanted& wanted) { return contributions_.next(wanted); }
  void take(const eager::Wanted& wanted) { contributions_.take(wanted); }
  void end() {
    operation_.seen_all();
    contributions_.combine(*arguments_.combiner, arguments_.receive, arguments_.count);
  }

 private:
  OperationView operation_;
  const AllreduceArguments& arguments_;
  eager::Contributions contributions_;
};

}  // namespace

extern const selection::Algorithm<AllreduceArguments> allreduce_eager;
const selection::Algorithm<AllreduceArguments> allreduce_eager{
    "eager",
    {"1", "n in, p n read by every rank", "XHC III.D; that all read all is ours"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 1.2 + selection::all_look * selection::further_ranks(shape),
                             .rounds = 2,  // all wait for all
                             .remote_bytes = (shape.ranks - 1) * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = shape.ranks * bytes,
                             .common = true,
                             .across = selection::Across::all};
    },
    eager::forms<EagerAllreduce, AllreduceArguments>()};

}  // namespace tutti
