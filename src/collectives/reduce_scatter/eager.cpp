// Reduce_scatter of small messages, flat, copy-in/copy-out.
//
// Phase 1: every rank copies its whole contribution into its slot (the smallest into the flag's own line). Phase 2:
// every rank combines its own range of all slots in one pass, in rank order. A rank that gets no element does not wait.
// Cost: one flag hop, n bytes copied, n (p-1)/p read from others, n reduced by each rank where the counts are equal.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. Copy-in/copy-out as in XHC, section III.D.

#include "collectives/collectives.h"
#include "collectives/common/reducing/eager_reduce.h"
#include "selection/looks.h"
#include "topology/owned_range.h"

namespace tutti {

namespace {

class EagerReduceScatter {
 public:
  EagerReduceScatter(const OperationView& operation, const ReduceScatterArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        mine_(topology::owned_range(arguments.counts, operation.communicator().rank())),
        contributions_(operation, mine_.empty() ? 0 : operation.communicator().size(), own(), arguments.bytes(),
                       mine_.begin * element(), mine_.end * element()) {}
  static std::size_t payload(const Communicator&, const ReduceScatterArguments& arguments) { return arguments.bytes(); }

  void send() { eager::send(operation_, arguments_.send, arguments_.bytes()); }
  bool next(eager::Wanted& wanted) { return contributions_.next(wanted); }
  void take(const eager::Wanted& wanted) { contributions_.take(wanted); }
  void end() {
    if (mine_.empty()) return;
    operation_.seen_all();
    contributions_.combine(*arguments_.combiner, arguments_.receive, mine_.length());
  }

 private:
  std::size_t element() const { return arguments_.combiner->element_bytes; }
  /// In place, the result may overlap the own contribution in the user's buffer: that is in the slot too.
  const std::byte* own() const {
    const std::byte* const send = arguments_.send;
    const bool overlaps =
        arguments_.receive < send + arguments_.bytes() && send < arguments_.receive + mine_.length() * element();
    return overlaps ? eager::payload_of(operation_, operation_.communicator().rank(), arguments_.bytes()) : send;
  }

  OperationView operation_;
  const ReduceScatterArguments& arguments_;
  topology::Range mine_;
  eager::Contributions contributions_;
};

}  // namespace

extern const selection::Algorithm<ReduceScatterArguments> reduce_scatter_eager;
const selection::Algorithm<ReduceScatterArguments> reduce_scatter_eager{
    "eager",
    {"1", "n in, n read: the own range of every slot", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      return selection::Cost{// The flags, and the lines in which the blocks are.
                             .hops = 1.2 + 2 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 2,  // all wait for all
                             .remote_bytes = others * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = bytes,
                             .across = selection::Across::all};
    },
    eager::forms<EagerReduceScatter, ReduceScatterArguments>()};

}  // namespace tutti
