#include "collectives/common/buffers/gathered.h"

#include <algorithm>

#include "base/copy.h"

namespace tutti {

Gathered::Gathered(Operation& operation, const AllgatherArguments& arguments)
    : operation_(operation),
      arguments_(arguments),
      exposed_(post_blocks(operation, arguments.receive, static_cast<std::size_t>(operation.communicator().size()),
                           Side::destination)) {
  const auto own = static_cast<std::size_t>(operation.communicator().rank());
  const std::size_t bytes = std::min(arguments.bytes, arguments.receive.size(own));
  const std::byte* source = arguments.send ? arguments.send : arguments.receive.at(own);
  if (bytes > 0 && source != exposed_.local.at(own)) copy_bytes(exposed_.local.at(own), source, bytes);
  announce(1);
}

void Gathered::fetch(int peer, int first, int last) {
  const memory::Peer& from = operation_.communicator().peer(peer);
  RemoteBlock run;
  std::byte* destination = nullptr;
  const auto copy = [&] {
    if (run.bytes > 0) from.copy_from(run.region, run.offset, destination, run.bytes, arguments_.store);
  };
  for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
    RemoteBlock block = posted_block(operation_, peer, i, Side::destination);
    block.bytes = operation_.fitting(block.bytes, arguments_.receive.size(i));
    if (block.bytes == 0) continue;
    std::byte* const place = exposed_.local.at(i);
    if (run.bytes > 0 && block.offset == run.offset + run.bytes && place == destination + run.bytes) {
      run.bytes += block.bytes;
      continue;
    }
    copy();
    run = block;
    destination = place;
  }
  copy();
}

void Gathered::collect() {
  collect_blocks(exposed_, arguments_.receive, static_cast<std::size_t>(operation_.communicator().size()),
                 arguments_.send ? -1 : operation_.communicator().rank());
}

}  // namespace tutti
