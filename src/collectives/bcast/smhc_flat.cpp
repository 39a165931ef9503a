// Bcast through shared memory, flat: a reference design, to compare with (SMHC in XHC, section V.C).
//
// Phase 1: the root copies the message, piece by piece, into its shared memory. Phase 2: everybody copies it out. Two
// pieces take turns: the root fills one again when all have copied it out.
// Cost: two flag hops and one back and forth for each piece; n bytes copied by the root and n by each other rank.
// Requires: at most TUTTI_FLAT_MAX ranks.

#include "collectives/algorithm.h"
#include "collectives/common/smhc.h"

namespace tutti {

selection::Algorithm<BcastArguments> bcast_smhc_flat{
    "smhc-flat",
    {"2, and back and forth for each piece", "2n, through shared memory", "SMHC as XHC V.C describes it"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // Copying out overlaps with copying the next piece in.
      const double pieces = std::max(1.0, bytes / smhc::usual_piece_bytes);
      const double last = std::min(bytes, smhc::usual_piece_bytes);
      const double further = selection::further_ranks(shape);
      const double hops = 3.4 + selection::many_look * further + (pieces - 1) * (1.2 + selection::one_looks * further);
      // Where ranks share cores nobody waits for a first piece; in all the message is copied p times.
      if (shape.oversubscribed())
        return selection::Cost{.hops = hops,
                               .rounds = 2,
                               .remote_bytes = last,
                               .slot_bytes = bytes,
                               .drawn_bytes = bytes + last,
                               .exposures = 1,
                               .concurrency = shape.ranks - 1.0,
                               .workers = shape.ranks * bytes / std::max(1.0, bytes + last),
                               .streams = static_cast<double>(shape.ranks),
                               .common = true};
      return selection::Cost{.hops = hops,
                             .rounds = 2,
                             .remote_bytes = bytes,
                             .slot_bytes = last,
                             .exposures = 1,
                             .concurrency = shape.ranks - 1.0,
                             .workers = shape.ranks - 1.0,
                             .common = true,
                             .beside = {.remote_bytes = last, .slot_bytes = bytes, .exposures = 1}};
    },
    {[](Operation& operation, const BcastArguments& arguments) {
       return smhc::bcast(operation, flat_place(operation, arguments.root), arguments);
     },
     smhc::flags}};

}  // namespace tutti
