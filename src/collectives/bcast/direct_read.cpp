// Bcast by direct reads, flat: everybody reads the root's buffer at once.
//
// Phase 1: the root posts where its buffer is. Phase 2: every other rank copies all of it. Phase 3: the root waits
// until all have said that they are done.
// Cost: two flag hops; n bytes read by each rank, p - 1 of them from the same pages at the same time: the paper's
// T_bcast + alpha + n beta + l gamma(p-1) pages + T_gather. A root whose buffer cannot be reached copies it into shared
// memory first, chunk by chunk, while the others read.
// Requires: at most TUTTI_FLAT_MAX ranks. CMA-aware, section V.B, 1.

#include "collectives/algorithm.h"
#include "collectives/common/trees/pull.h"

namespace tutti {

selection::Algorithm<BcastArguments> bcast_direct_read{
    "direct-read",
    {"2", "n, all from one buffer at once", "CMA-aware V.B.1"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 2.4 + selection::there_and_back * selection::further_ranks(shape),
                             .rounds = 2,
                             .remote_bytes = bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .left_bytes = bytes,
                             .exposures = 1,
                             .startups = 1,
                             .concurrency = shape.ranks - 1.0,
                             .workers = shape.ranks - 1.0,
                             .common = true};
    },
    {[](Operation& operation, const BcastArguments& arguments) {
       return pull_down(operation, arguments, flat_place(operation, arguments.root), false);
     },
     pull_flags},
    {.lends = Readers::many}};

}  // namespace tutti
