// Allreduce through shared memory, flat: a reference design, to compare with (SMHC in XHC, section V.C).
//
// Phase 1: the Reduce of the same name to rank 0. Phase 2: its Bcast of the result. One after the other.
// Cost: the sum of the two.
// Requires: at most TUTTI_FLAT_MAX ranks.

#include "collectives/collectives.h"
#include "collectives/common/smhc.h"

namespace tutti {

namespace {

constexpr int internal_root = 0;

Task body(Operation& operation, const AllreduceArguments& arguments) {
  const TreePlace place = flat_place(operation, internal_root);
  const smhc::Pieces pieces = smhc::post_pieces(operation, arguments.bytes(), arguments.combiner->element_bytes,
                                                operation.communicator().chunk_bytes(0));
  co_await smhc::collect(operation, place, pieces, arguments.send, arguments.receive, *arguments.combiner);
  // The result has come from everybody's pieces: they are free for the way down.
  co_await smhc::release(operation, place, pieces, arguments.receive);
}

void run(Communicator& communicator, const AllreduceArguments& arguments) {
  Operation operation(communicator, "Allreduce");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<AllreduceArguments> allreduce_smhc_flat;
const selection::Algorithm<AllreduceArguments> allreduce_smhc_flat{
    "smhc-flat",
    "at most TUTTI_FLAT_MAX ranks",
    {"those of Reduce and Bcast", "as Reduce, then as Bcast", "SMHC as XHC V.C describes it"},
    [](const selection::Shape& shape) { return static_cast<std::size_t>(shape.ranks) <= shape.flat_max; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 6.0 + 0.4 * shape.ranks,
                             .rounds = 6,
                             .remote_bytes = shape.ranks * bytes,
                             .slot_bytes = 2 * bytes,
                             .reduced_bytes = shape.ranks * bytes,
                             .exposures = 1,
                             .across = selection::Across::all};
    },
    run};

}  // namespace tutti
