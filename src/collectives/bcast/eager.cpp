// Bcast of small messages, flat, copy-in/copy-out.
//
// Phase 1: the root copies the payload into its slot (the smallest into the flag's own line). Phase 2: everybody copies
// it out. No acknowledgement: the ring of slots lets the root go on.
// Cost: one flag hop, 2 n bytes copied; p - 1 ranks read the root's lines.
// Requires: n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. XHC, section III.D.

#include "collectives/common/eager.h"

#include "collectives/algorithm.h"

namespace tutti {

namespace {

class EagerBcast {
 public:
  EagerBcast(const OperationView& operation, const BcastArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        destination_(arguments.buffer),
        copy_(arguments.root, is_root() ? 0 : arguments.bytes) {}
  static std::size_t payload(const Communicator&, const BcastArguments& arguments) { return arguments.bytes; }

  void send() {
    if (is_root()) eager::send(operation_, arguments_.buffer, arguments_.bytes);
  }
  bool next(eager::Wanted& wanted) { return copy_.next(wanted); }
  void take(const eager::Wanted&) { destination_ = copy_.take(operation_, destination_); }
  void end() {}

 private:
  bool is_root() const { return operation_.communicator().rank() == arguments_.root; }
  OperationView operation_;
  const BcastArguments& arguments_;
  std::byte* destination_;
  eager::CopyOut copy_;
};

}  // namespace

selection::Algorithm<BcastArguments> bcast_eager{
    "eager",
    {"1", "2n: in and out; up to 112 bytes travel with the flag", "XHC III.D"},
    selection::requires_few_bytes_and_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 1.1 + selection::many_look * selection::further_ranks(shape),
                             .rounds = 1,
                             .remote_bytes = bytes,
                             .concurrency = shape.ranks - 1.0,
                             // In all the message is copied p times.
                             .workers = shape.ranks / 2.0,
                             .common = true,
                             // The root goes on while they copy out of the slot.
                             .beside = {.slot_bytes = bytes}};
    },
    eager::forms<EagerBcast, BcastArguments>()};

}  // namespace tutti
