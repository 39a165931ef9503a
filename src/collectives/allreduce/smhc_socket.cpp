// Allreduce through shared memory with a leader a socket: a reference design, to compare with (SMHC in XHC, section
// V.C).
//
// Phase 1: the Reduce of the same name to rank 0. Phase 2: its Bcast of the result. One after the other.
// Cost: the sum of the two.
// Requires: an operator that commutes.

#include "collectives/algorithm.h"
#include "collectives/common/smhc.h"

namespace tutti {

selection::Algorithm<AllreduceArguments> allreduce_smhc_socket{
    "smhc-socket",
    {"those of Reduce and Bcast", "as Reduce, then as Bcast", "SMHC as XHC V.C describes it"},
    selection::requires_commuting,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // Two sockets: a leader combines half of the ranks, the root these and the other leader.
      const double combined = shape.several_sockets() ? shape.ranks / 2.0 + 2 : shape.ranks - 1;
      return selection::Cost{.hops = 12.5 + selection::there_and_back * selection::further_ranks(shape),
                             .rounds = 12,
                             .copied_bytes = bytes,
                             .remote_bytes = (combined + 2) * bytes,
                             .slot_bytes = 4 * bytes,
                             .reduced_bytes = combined * bytes,
                             .exposures = 2,
                             .crowded_bytes = 2 * bytes,
                             .crowd = std::max(1.0, shape.several_sockets() ? shape.ranks / 2.0 : shape.ranks - 1.0),
                             .streams = 2};
    },
    {[](Operation& operation, const AllreduceArguments& arguments) {
       return smhc::allreduce(operation, socket_place(operation, smhc::internal_root), arguments);
     },
     smhc::flags}};

}  // namespace tutti
