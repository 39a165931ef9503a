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
  const memory::PeerTransfers from = operation_.peer(rank);
  constexpr std::size_t at_once = 64;
  memory::Run runs[at_once];
  std::size_t count = 0;
  memory::Region region;  // the same for all blocks of a rank
  const auto copy = [&] {
    if (count > 0) from.copy_runs_from(region, runs, count, arguments_.store);
    count = 0;
  };
  for (int each = first; each < last; ++each) {
    const auto i = static_cast<std::size_t>(order_.rank(each));
    RemoteBlock block = posted_block(operation_, rank, i, Side::destination);
    block.bytes = operation_.fitting(block.bytes, arguments_.receive.size(i));
    if (block.bytes == 0) continue;
    region = block.region;
    std::byte* const destination = exposed_.local.at(i);
    if (count > 0) {
      memory::Run& run = runs[count - 1];
      if (block.offset == run.offset + run.bytes && destination == run.destination + run.bytes) {
        run.bytes += block.bytes;
        continue;
      }
      if (count == at_once) copy();
    }
    runs[count++] = {block.offset, destination, block.bytes};
  }
  copy();
}

void Gathered::collect() {
  collect_blocks(exposed_, arguments_.receive, static_cast<std::size_t>(operation_.communicator().size()),
                 arguments_.send ? -1 : operation_.communicator().rank());
}

}  // namespace tutti
