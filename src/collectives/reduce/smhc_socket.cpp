// Reduce through shared memory with a leader a socket: a reference design, to compare with (SMHC in XHC, section V.C,
// turned round).
//
// Phase 1: every rank copies its contribution, piece by piece, into its shared memory. Phase 2: the leader of each
// socket combines those of its members there. Phase 3: the root combines those of its socket and of the other leaders,
// all at once, in the order of their ranks.
// Cost: four flag hops and one back and forth a level for each piece; n bytes copied by each rank, as many times n
// reduced by each leader as its socket has ranks.
// Requires: an operator that commutes. On one socket it is smhc-flat. TUTTI_HIERARCHY does not matter to it.

#include "collectives/algorithm.h"
#include "collectives/common/smhc.h"

namespace tutti {

selection::Algorithm<ReduceArguments> reduce_smhc_socket{
    "smhc-socket",
    {"4, and back and forth a level for each piece", "n in, n of each rank of a socket read by its leader",
     "SMHC as XHC V.C describes it, turned round"},
    selection::requires_commuting,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // Two sockets: a leader combines half of the ranks, the root these and the other leader. Of each it reads three
      // lines at least: post, flag and piece.
      const double combined = shape.several_sockets() ? shape.ranks / 2.0 + 2 : shape.ranks - 1;
      return selection::Cost{.hops = 6.3 + 2 * selection::one_looks * selection::further_ranks(shape),
                             .rounds = 6,
                             .remote_bytes = combined * bytes,
                             .slot_bytes = 2 * bytes,
                             .reduced_bytes = combined * bytes,
                             .exposures = 2,
                             .streams = 2};
    },
    {[](Operation& operation, const ReduceArguments& arguments) {
       return smhc::reduce(operation, socket_place(operation, arguments.root), arguments);
     },
     smhc::flags}};

}  // namespace tutti
