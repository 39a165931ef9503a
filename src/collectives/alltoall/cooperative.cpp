// Alltoall of two ranks that find out whether to read or to store.
//
// Phase 1: both expose their blocks for each other, and rank 0 says whether this time they store; each copies its own
// block. Phase 2: each reads the other's block or stores its own into the other's buffer. Phase 3: both wait until the
// other has finished.
// Cost: two flag hops; n bytes copied, n read or stored.
// Requires: two ranks, equal blocks. Reading it is direct, storing direct-write; the choice is ours.

#include "collectives/collectives.h"
#include "collectives/common/own_block.h"
#include "collectives/common/two_blocks.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const AlltoallArguments& arguments) {
  const auto self = static_cast<std::size_t>(communicator.rank());
  const Blocks& send = arguments.send;
  const Blocks& receive = arguments.receive;
  Operation operation(communicator, "Alltoall");
  const TwoBlocks blocks{send.at(1 - self), send.bytes, receive.at(1 - self), receive.bytes};
  exchange_blocks(operation, Learned::alltoall, blocks, arguments.store,
                  [&] { copy_own_block(receive.at(self), send.at(self), send.bytes, arguments.store); });
  operation.complete();
}

}  // namespace

extern const selection::Algorithm<AlltoallArguments> alltoall_cooperative;
const selection::Algorithm<AlltoallArguments> alltoall_cooperative{
    "cooperative", "two ranks, equal blocks",
    [](const selection::Shape& shape) { return shape.regular && shape.ranks == 2; },
    [](const selection::Shape& shape) { return exchange_cost(shape, 2); }, run};

}  // namespace tutti
