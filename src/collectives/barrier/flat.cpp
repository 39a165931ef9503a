// Barrier, flat.
//
// Phase 1: every rank sets its flag. Phase 2: every rank sees the flag of every other, each beginning with the next.
// Cost: one flag hop when all arrive together; p - 1 lines read by each rank, none written by two.
// Requires: not too many ranks (TUTTI_FLAT_MAX). Single-writer flags: XHC, section III.E.

#include "collectives/collectives.h"
#include "engine/task.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const BarrierArguments&) {
  const std::uint64_t sequence = communicator.begin(ring_slots);
  const sync::Stamp stamp = sync::stamp(sequence);
  communicator.slot(communicator.rank(), sequence).post.flag.set(stamp);
  communicator.published();
  for (int i = 1, rank = communicator.rank(); i < communicator.size(); ++i) {
    rank = rank + 1 == communicator.size() ? 0 : rank + 1;
    const sync::Flag& flag = communicator.slot(rank, sequence).post.flag;
    if (!flag.has(stamp)) {
      const sync::WaitReason reason{"Barrier", &communicator, sequence, communicator.node_rank(rank)};
      sync::wait(*communicator.node().waiter, reason, [&] { return flag.has(stamp); });
    }
    communicator.check(rank, sequence);
  }
  communicator.seen_all(sequence);
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<BarrierArguments> barrier_flat;
const selection::Algorithm<BarrierArguments> barrier_flat{"flat",
                                                          {"1", "", "XHC III.E"},
                                                          selection::requires_few_ranks,
                                                          [](const selection::Shape& shape) {
                                                            // The lines of the others arrive one after the other in the worst case, overlapped in the usual one.
                                                            return selection::Cost{.hops = 1.0 + 0.1 * shape.ranks,
                                                                                   .rounds = 1};
                                                          },
                                                          run};

}  // namespace tutti
