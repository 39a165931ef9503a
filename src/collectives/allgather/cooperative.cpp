// Allgather of ranks that find out whether to read or to store.
//
// Of two ranks. Phase 1: both expose their block and the place of the other's, and rank 0 says whether this time they
// store; each copies its block to its own receive buffer. Phase 2: each reads the other's block or stores its own into
// the other's buffer. Phase 3: both wait until the other has finished. Of more each is a neighbour of all
// (common/neighbor_exchange.h).
// Cost: two flag hops; n bytes copied, (p - 1) n read or stored.
// Requires: at most exchanged_with_all_max ranks. Reading it is ring-source-read, storing ring-source-write; the choice
// is ours.

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/common/buffers/own_block.h"
#include "collectives/common/neighbor_exchange.h"
#include "collectives/common/two_blocks.h"

namespace tutti {

namespace {

void exchange_of_two(Communicator& communicator, const AllgatherArguments& arguments) {
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

void run(Communicator& communicator, const AllgatherArguments& arguments) {
  if (communicator.size() == 2) return exchange_of_two(communicator, arguments);
  const auto self = static_cast<std::size_t>(communicator.rank());
  Blocks send = Blocks::regular(arguments.send ? arguments.send : arguments.receive.at(self), arguments.bytes);
  send.stride = 0;
  exchange_with_all(communicator, send, arguments.receive, arguments.store, Learned::allgather);
}

selection::Cost cost(const selection::Shape& shape) {
  if (shape.ranks == 2) return exchange_cost(shape, 4);
  const auto bytes = static_cast<double>(shape.bytes);
  const double others = shape.ranks - 1;
  // A little less than by reads: the other way may be faster.
  const double read = 0.97 * others * bytes;
  return {.hops = 2.0 + 0.25 * shape.ranks,
          .rounds = 4,
          .copied_bytes = bytes,
          .remote_bytes = read,
          .exchanged_bytes = read,
          .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
          .exposures = 2,
          .startups = others,
          .common = true,
          .across = selection::Across::all};
}

}  // namespace

static_assert(exchanged_with_all_max == 13, "said below");
extern const selection::Algorithm<AllgatherArguments> allgather_cooperative;
const selection::Algorithm<AllgatherArguments> allgather_cooperative{
    "cooperative",
    {"2; 1 if small", "(p-1) n read or stored", "ring-source-read or -write; finding out is ours"},
    {"at most 13 ranks", [](const selection::Shape& shape) { return shape.ranks <= exchanged_with_all_max; }},
    cost,
    run};

}  // namespace tutti
