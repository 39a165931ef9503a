// Bcast of small messages, flat, copy-in/copy-out.
//
// Phase 1: the root copies the payload into its slot (the smallest into the flag's own line). Phase 2: everybody copies
// it out. No acknowledgement: the ring of slots lets the root go on.
// Cost: one flag hop, 2 n bytes copied; p - 1 ranks read the root's lines.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/common/eager.h"

#include "base/copy.h"
#include "collectives/collectives.h"

namespace tutti {

namespace {

void run(Communicator& communicator, const BcastArguments& arguments) {
  const std::uint64_t sequence = eager::begin(communicator, arguments.bytes);
  if (communicator.rank() == arguments.root) {
    eager::send(communicator, sequence, arguments.buffer, arguments.bytes);
  } else if (eager::fits_inline(arguments.bytes)) {
    reduction::copy(arguments.buffer,
                    eager::receive(communicator, sequence, arguments.root, arguments.bytes, arguments.bytes, "Bcast"),
                    arguments.bytes);
  } else {
    for (std::size_t at = 0; at < arguments.bytes; at += grain_bytes) {
      const std::size_t end = at + grain_bytes < arguments.bytes ? at + grain_bytes : arguments.bytes;
      const std::byte* data = eager::receive(communicator, sequence, arguments.root, arguments.bytes, end, "Bcast");
      copy_bytes(arguments.buffer + at, data + at, end - at);
    }
  }
  communicator.complete(sequence);
}

}  // namespace

extern const selection::Algorithm<BcastArguments> bcast_eager;
const selection::Algorithm<BcastArguments> bcast_eager{
    "eager",
    {"1", "2n: in and out; up to 112 bytes travel with the flag", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 1.0 + 0.05 * shape.ranks,
                             .rounds = 1,
                             .remote_bytes = bytes,
                             .slot_bytes = bytes,
                             .concurrency = shape.ranks - 1.0,
                             // In all the message is copied p times.
                             .workers = shape.ranks / 2.0,
                             .common = true};
    },
    run};

}  // namespace tutti
