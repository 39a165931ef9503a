// Allgather of two ranks that find out whether to read or to store.
//
// Phase 1: both expose their block and the place of the other's, and rank 0 says whether this time they store; each
// copies its block to its own receive buffer. Phase 2: each reads the other's block or stores its own into the other's
// buffer. Phase 3: both wait until the other has finished.
// Cost: two flag hops; n bytes copied, n read or stored.
// Requires: two ranks. Reading it is ring-source-read, storing ring-source-write; the choice is ours.

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/common/own_block.h"
#include "collectives/common/two_blocks.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const AllgatherArguments& arguments) {
  const auto self = static_cast<std::size_t>(communicator.rank());
  const Blocks& receive = arguments.receive;
  const std::byte* const send = arguments.send ? arguments.send : receive.at(self);
  Operation operation(communicator, "Allgather");
  const TwoBlocks blocks{send, arguments.bytes, receive.at(1 - self), receive.size(1 - self)};
  exchange_blocks(operation, Learned::allgather, blocks, arguments.store, [&] {
    copy_own_block(receive.at(self), send, std::min(arguments.bytes, receive.size(self)), arguments.store);
  });
  operation.complete();
}

}  // namespace

extern const selection::Algorithm<AllgatherArguments> allgather_cooperative;
const selection::Algorithm<AllgatherArguments> allgather_cooperative{
    "cooperative", "two ranks", [](const selection::Shape& shape) { return shape.ranks == 2; },
    [](const selection::Shape& shape) { return exchange_cost(shape, 4); }, run};

}  // namespace tutti
