// Reduce, flat: the root reduces everything itself, from the send buffers where they are.
//
// Phase 1: every rank but the root exposes its send buffer. Phase 2: the root waits for all, and reduces all buffers in
// one pass, in rank order, into its receive buffer, which no other rank touches. Phase 3: the others wait until it has.
// Cost: two flag hops; the root reads n bytes of every buffer and writes n, the others do nothing.
// Requires: at most TUTTI_FLAT_MAX ranks. The eager form's way, without its copies: single copy as in XHC, section
// III.C.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

Task direct_root(Operation& operation, const ReduceArguments& arguments) {
  const int self = operation.communicator().rank();
  RemoteBuffer* const sources = co_await Contributions(operation, {});
  sources[self].region = own_memory(arguments.send);
  const RemoteBuffer result{self, own_memory(arguments.receive)};
  co_await reduce_range(operation, *arguments.combiner, {0, arguments.count},
                        {sources, operation.communicator().size()}, result, arguments.store);
  operation.publish_done();
}

Task direct_contributor(Operation& operation, const ReduceArguments& arguments) {
  const Exposure source = stage(operation, arguments.send, arguments.bytes());
  // What lies in the ring stays there for the root.
  if (source.in_the_ring) co_return;
  co_await operation.done(arguments.root);
  // The root has seen all posts.
  operation.seen_all();
}

}  // namespace

selection::Algorithm<ReduceArguments> reduce_direct{
    "direct",
    {"2", "p n read by the root", "XHC III.C, without hierarchy"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      const bool staged = shape.reach == selection::Reach::staged;
      return selection::Cost{.hops = 2.8 + 2 * selection::one_looks * selection::further_ranks(shape),
                             // The root waits for everybody's post, and everybody for it.
                             .rounds = 4,
                             .remote_bytes = others * bytes,
                             .slot_bytes = staged ? std::min<double>(bytes, memory::filled_at_once) : 0.0,
                             .reduced_bytes = shape.ranks * bytes,
                             .left_bytes = bytes,
                             .exposures = 1,
                             .startups = others * std::max(1.0, bytes / usual_block_bytes),
                             .workers = 1,
                             .across = selection::Across::all};
    },
    {rooted<direct_root, direct_contributor>, only_done},
    {.lends = Readers::one}};

}  // namespace tutti
