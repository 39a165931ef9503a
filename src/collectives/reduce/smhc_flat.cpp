// Reduce through shared memory, flat: a reference design, to compare with (SMHC in XHC, section V.C, turned round).
//
// Phase 1: every rank but the root copies its contribution, piece by piece, into its shared memory. Phase 2: the root
// combines the pieces of all in rank order. Two pieces take turns on each rank.
// Cost: two flag hops and one back and forth for each piece; n bytes copied by each rank, p n reduced by the root
// alone.
// Requires: at most TUTTI_FLAT_MAX ranks.

#include "collectives/algorithm.h"
#include "collectives/common/smhc.h"

namespace tutti {

selection::Algorithm<ReduceArguments> reduce_smhc_flat{
    "smhc-flat",
    {"2, and back and forth for each piece", "n in, p n read by the root",
     "SMHC as XHC V.C describes it, turned round"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 3.4 + 2 * selection::one_looks * selection::further_ranks(shape),
                             .rounds = 3,
                             .remote_bytes = (shape.ranks - 1) * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = shape.ranks * bytes,
                             .exposures = 1,
                             .streams = 1,
                             .across = selection::Across::all};
    },
    {[](Operation& operation, const ReduceArguments& arguments) {
       return smhc::reduce(operation, flat_place(operation, arguments.root), arguments);
     },
     smhc::flags}};

}  // namespace tutti
