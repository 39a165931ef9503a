#include "collectives/common/buffers/gathered.h"

#include <algorithm>

#include "base/copy.h"

namespace tutti {

Gathered::Gathered(Operation& operation, const AllgatherArguments& arguments)
    : operation_(operation),
      arguments_(arguments),
      order_(operation.communicator().order()),
      exposed_(post_blocks(operation, {arguments.receive, static_cast<std::size_t>(operation.communicator().size()),
                                       Side::destination})) {
  const auto own = static_cast<std::size_t>(operation.communicator().rank());
  const std::size_t bytes = std::min(arguments.bytes, arguments.receive.size(own));
  const std::byte* source = arguments.send ? arguments.send : arguments.receive.at(own);
  if (bytes > 0 && source != exposed_.local.at(own)) copy_bytes(exposed_.local.at(own), source, bytes);
  announce(1);
}

void Gathered::fetch(int place, int first, int last) {
  const int rank = order_.rank(place);
  PulledRuns runs(operation_.peer(rank), arguments_.store);
  for (int each = first; each < last; ++each) {
    const auto i = static_cast<std::size_t>(order_.rank(each));
    const RemoteBlock block = posted_block(operation_, rank, i, Side::destination);
    if (const std::size_t bytes = operation_.fitting(block.bytes, arguments_.receive.size(i)))
      runs.add(block.region, block.offset, exposed_.local.at(i), bytes);
  }
  runs.pull();
}

void Gathered::collect() {
  collect_blocks(exposed_, arguments_.receive, static_cast<std::size_t>(operation_.communicator().size()),
                 arguments_.send ? -1 : operation_.communicator().rank());
}

}  // namespace tutti
