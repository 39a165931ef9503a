// Allreduce through shared memory, flat: a reference design, to compare with (SMHC in XHC, section V.C).
//
// Phase 1: the Reduce of the same name to rank 0. Phase 2: its Bcast of the result. One after the other.
// Cost: the sum of the two.
// Requires: at most TUTTI_FLAT_MAX ranks.

#include "collectives/algorithm.h"
#include "collectives/common/smhc.h"

namespace tutti {

selection::Algorithm<AllreduceArguments> allreduce_smhc_flat{
    "smhc-flat",
    {"those of Reduce and Bcast", "as Reduce, then as Bcast", "SMHC as XHC V.C describes it"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{
          .hops = 6.8 + (2 * selection::one_looks + selection::many_look) * selection::further_ranks(shape),
          .rounds = 6,
          .remote_bytes = shape.ranks * bytes,
          .slot_bytes = 2 * bytes,
          .reduced_bytes = shape.ranks * bytes,
          .exposures = 1,
          // The root alone reads what the others have, then all what it has.
          .crowded_bytes = bytes,
          .crowd = shape.ranks - 1.0,
          .streams = 1,
          .across = selection::Across::all};
    },
    {[](Operation& operation, const AllreduceArguments& arguments) {
       return smhc::allreduce(operation, flat_place(operation, smhc::internal_root), arguments);
     },
     smhc::flags}};

}  // namespace tutti
