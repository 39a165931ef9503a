// Bcast through shared memory with a leader a socket: a reference design, to compare with (SMHC in XHC, section V.C).
//
// Phase 1: the root copies the message, piece by piece, into its shared memory. Phase 2: the leaders of the other
// sockets copy it into theirs, and out for themselves. Phase 3: the members of each socket copy it from their leader's.
// Two pieces take turns on the root and on each leader.
// Cost: four flag hops and one back and forth a level for each piece; 2 n bytes copied by a leader, n by each other
// rank.
// Requires: nothing. On one socket it is smhc-flat. TUTTI_HIERARCHY does not matter to it.

#include "collectives/algorithm.h"
#include "collectives/common/smhc.h"

namespace tutti {

selection::Algorithm<BcastArguments> bcast_smhc_socket{
    "smhc-socket",
    {"4, and back and forth a level for each piece", "2n, a leader 3n", "SMHC as XHC V.C describes it"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // Two sockets, or nothing between sockets.
      const double levels = shape.several_sockets() ? 2 : 1;
      const double pieces = std::max(1.0, bytes / smhc::usual_piece_bytes);
      const double last = std::min(bytes, smhc::usual_piece_bytes);
      const double further = selection::further_ranks(shape);
      const double hops = 3.0 * levels + (0.4 + selection::many_look * further) / levels +
                          (pieces - 1) * (levels + (0.2 + selection::one_looks * further) / levels);
      const double members = std::max(1.0, shape.ranks / levels - 1);
      // The members, and beside them the leaders, whose copies in they wait for once.
      if (!shape.oversubscribed())
        return selection::Cost{.hops = hops,
                               .rounds = 2 * levels,
                               .remote_bytes = bytes,
                               .slot_bytes = levels * last,
                               .exposures = levels,
                               .concurrency = members,
                               .workers = shape.ranks - 1.0,
                               .common = true,
                               .beside = {.copied_bytes = (levels - 1) * bytes,
                                          .remote_bytes = (levels - 1) * bytes + last,
                                          .slot_bytes = levels * bytes,
                                          .exposures = levels}};
      const double handled = (3 * levels - 2) * bytes + last;
      return selection::Cost{.hops = hops,
                             .rounds = 2 * levels,
                             .copied_bytes = (levels - 1) * bytes,
                             .remote_bytes = (levels - 1) * bytes + last,
                             .slot_bytes = levels * bytes,
                             .drawn_bytes = handled,
                             .exposures = levels,
                             .concurrency = members,
                             // In all the message is copied p times, and once more for each socket but the root's.
                             .workers = (shape.ranks + levels - 1) * bytes / std::max(1.0, handled),
                             .streams = static_cast<double>(shape.ranks),
                             .common = true};
    },
    {[](Operation& operation, const BcastArguments& arguments) {
       return smhc::bcast(operation, socket_place(operation, arguments.root), arguments);
     },
     smhc::flags}};

}  // namespace tutti
