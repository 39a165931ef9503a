// Reduce, flat: the root reduces everything itself, from the send buffers where they are.
//
// Phase 1: every rank but the root exposes its send buffer. Phase 2: the root waits for all, and reduces all buffers in
// one pass, in rank order, into its receive buffer, which no other rank touches. Phase 3: the others wait until it has.
// Cost: two flag hops; the root reads n bytes of every buffer and writes n, the others do nothing.
// Requires: at most TUTTI_FLAT_MAX ranks. The eager form's way, without its copies: single copy as in XHC, section
// III.C.

#include "collectives/collectives.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// No coroutine, like the other one: each waits for one thing after the other.
void reduce_all(Operation& operation, const ReduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  RemoteBuffer* sources = operation.array<RemoteBuffer>(ranks);
  sources[self] = {self, own_memory(arguments.send)};
  for (int rank = communicator.next_rank(); rank != self; rank = rank + 1 == communicator.size() ? 0 : rank + 1) {
    operation.wait(operation.slot(rank).post.flag, 0, rank);
    sources[rank] = {rank, posted_source(operation, rank)};
  }
  communicator.seen_all(operation.sequence());
  const RemoteBuffer result{self, own_memory(arguments.receive)};
  reduce_range(communicator, *arguments.combiner, {0, arguments.count}, sources, ranks, &result, 1, arguments.store);
  operation.publish(operation.own().done.flag[0]);
}

void contribute(Operation& operation, const ReduceArguments& arguments) {
  auto* const send = const_cast<std::byte*>(arguments.send);
  Exposure source = expose(operation, send, arguments.bytes(), Side::source);
  post_filling(operation, source, {}, send, arguments.bytes());
  // What lies in the ring stays there for the root.
  if (source.in_the_ring) return;
  operation.wait(operation.slot(arguments.root).done.flag[0], 0, arguments.root);
  Communicator& communicator = operation.communicator();
  communicator.check(arguments.root, operation.sequence());
  // The root has seen all posts.
  communicator.seen_all(operation.sequence());
}

void run(Communicator& communicator, const ReduceArguments& arguments) {
  Operation operation(communicator, "Reduce");
  if (communicator.rank() == arguments.root)
    reduce_all(operation, arguments);
  else
    contribute(operation, arguments);
  operation.complete();
}

}  // namespace

extern const selection::Algorithm<ReduceArguments> reduce_direct;
const selection::Algorithm<ReduceArguments> reduce_direct{
    "direct",
    {"2", "p n read by the root", "XHC III.C, without hierarchy"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      const bool staged = shape.reach == selection::Reach::staged;
      return selection::Cost{.hops = 2.4 + 0.2 * shape.ranks,
                             // The root waits for everybody's post, and everybody for it.
                             .rounds = 4,
                             .remote_bytes = others * bytes,
                             .slot_bytes = staged ? std::min<double>(bytes, memory::filled_at_once) : 0.0,
                             .reduced_bytes = shape.ranks * bytes,
                             .exposures = 1,
                             .startups = others * std::max(1.0, bytes / usual_block_bytes),
                             .workers = 1,
                             .across = selection::Across::all};
    },
    run};

}  // namespace tutti
