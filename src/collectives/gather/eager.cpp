// Gather of small blocks, flat, copy-in/copy-out.
//
// Phase 1: every rank but the root copies its block into its slot, grain by grain (the smallest into the flag's own
// line), and is done: the ring of slots lets it go on. Phase 2: the root copies all of them out, in rank order.
// Cost: one flag hop; n bytes copied in by each, (p-1) n out by the root.
// Requires: equal blocks, n <= TUTTI_EAGER_MAX, at most TUTTI_FLAT_MAX ranks. After XHC, section III.D.

#include "collectives/common/eager.h"

#include "collectives/algorithm.h"

namespace tutti {

namespace {

class EagerGather {
 public:
  EagerGather(const OperationView& operation, const GatherArguments& arguments)
      : operation_(operation),
        arguments_(arguments),
        is_root_(operation.communicator().rank() == arguments.root),
        rank_(is_root_ ? -1 : operation.communicator().size()),
        copy_(0, 0) {}
  static std::size_t payload(const Communicator&, const GatherArguments& arguments) { return arguments.bytes; }

  void send() {
    if (!is_root_)
      eager::send(operation_, arguments_.send, arguments_.bytes);
    else if (arguments_.send)
      reduction::copy(arguments_.receive.at(static_cast<std::size_t>(arguments_.root)), arguments_.send,
                      arguments_.bytes);
  }
  bool next(eager::Wanted& wanted) {
    while (!copy_.next(wanted)) {
      if (++rank_ >= operation_.communicator().size()) return false;
      if (rank_ == arguments_.root) continue;
      copy_ = {rank_, arguments_.bytes};
      destination_ = arguments_.receive.at(static_cast<std::size_t>(rank_));
    }
    return true;
  }
  void take(const eager::Wanted&) { destination_ = copy_.take(operation_, destination_); }
  void end() {
    if (is_root_) operation_.seen_all();
  }

 private:
  OperationView operation_;
  const GatherArguments& arguments_;
  bool is_root_;
  int rank_;  ///< whose block is being taken
  eager::CopyOut copy_;
  std::byte* destination_ = nullptr;
};

}  // namespace

selection::Algorithm<GatherArguments> gather_eager{
    "eager",
    {"1", "n in, (p-1) n out at the root", "XHC III.D"},
    {"equal blocks of at most TUTTI_EAGER_MAX bytes, TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) { return shape.small() && shape.few_ranks(); }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 1.4 + 2 * selection::one_looks * selection::further_ranks(shape),
                             .rounds = 1,
                             .remote_bytes = bytes * others,
                             // The others go on while the root copies out of their slots; those of a core, which have
                             // written before it reads, one after the other.
                             .slot_bytes = shape.oversubscribed() ? bytes * shape.ranks_per_core : 0.0,
                             .workers = 1,
                             .beside = {.slot_bytes = shape.oversubscribed() ? 0.0 : bytes},
                             .across = selection::Across::all};
    },
    eager::forms<EagerGather, GatherArguments>()};

}  // namespace tutti
