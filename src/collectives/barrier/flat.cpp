// Barrier, flat.
//
// Phase 1: every rank sets its flag. Phase 2: every rank sees the flag of every other, each beginning with the next.
// Cost: one flag hop when all arrive together; p - 1 lines read by each rank, none written by two.
// Requires: not too many ranks (TUTTI_FLAT_MAX). Single-writer flags: XHC, section III.E.

#include "collectives/algorithm.h"
#include "collectives/common/eager.h"

namespace tutti {

namespace {

class EagerBarrier {
 public:
  EagerBarrier(const OperationView& operation, const BarrierArguments&)
      : operation_(operation), rank_(operation.communicator().next_rank()) {}
  static std::size_t payload(const Communicator&, const BarrierArguments&) { return 0; }

  void send() { operation_.publish(operation_.own().post.flag); }
  bool next(eager::Wanted& wanted) {
    if (rank_ == operation_.communicator().rank()) return false;
    wanted = {rank_};
    return true;
  }
  void take(const eager::Wanted&) { rank_ = rank_ + 1 == operation_.communicator().size() ? 0 : rank_ + 1; }
  void end() { operation_.seen_all(); }

 private:
  OperationView operation_;
  int rank_;  ///< whose flag is awaited next
};

}  // namespace

selection::Algorithm<BarrierArguments> barrier_flat{
    "flat",
    {"1", "", "XHC III.E"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      // The lines of the others arrive one after the other in the worst case, overlapped in the usual one.
      return selection::Cost{.hops = 1.2 + selection::all_look * selection::further_ranks(shape), .rounds = 1};
    },
    eager::forms<EagerBarrier, BarrierArguments>()};

}  // namespace tutti
