// Prefixes over the contributions of several ranks, one index range at a time: what Scan and Exscan share.
#pragma once

#include "collectives/common/reducing/share.h"

namespace tutti {

/// The ranks of one prefix, in order. A destination may be the memory of the same rank's source. A region of kind none
/// gets nothing (the first rank's of an Exscan).
struct PrefixBuffers {
  const RemoteBuffer* sources = nullptr;
  const RemoteBuffer* destinations = nullptr;
  std::size_t count = 0;
  bool exclusive = false;
  RemoteBuffer total;  ///< gets the combination of all, if its region is of a kind
};

/// destinations[i] = sources[0] op ... op sources[i], or up to sources[i-1] if exclusive, over the elements of `range`,
/// block by block, each source read once. Nobody else may touch that range of any of the buffers.
Task prefix_range(Operation& operation, const Combiner& combiner, topology::Range range, PrefixBuffers buffers,
                  memory::Store store);

/// destinations[i] = carry op destinations[i], where carry = carries[0] op carries[1] op ..., over the elements of
/// `range`. If `first_is_empty`, destinations[0] holds nothing yet and gets the carry itself.
Task carry_range(Operation& operation, const Combiner& combiner, topology::Range range, RemoteBuffers carries,
                 RemoteBuffers destinations, bool first_is_empty);

/// For costs, where rank r reads from the r ranks before it: how many who read as much as the last one read as much as
/// all. Where ranks share cores, the costs are of the mean rank.
inline double mean_readers(const selection::Shape& shape) {
  return shape.oversubscribed() ? shape.ranks : shape.ranks / 2.0;
}

}  // namespace tutti
