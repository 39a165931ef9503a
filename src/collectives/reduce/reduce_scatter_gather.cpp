// Reduce of large messages by reduce-scatter and gather, for any number of ranks.
//
// Phase 1: reduce-scatter by recursive halving (common/reducing/halving.h). Phase 2: each stores the part that it has into
// the root's buffer.
// Cost: log2 p steps and two more, one more if p is no power of two. Each rank reads n (q-1)/q and stores n/q, q the largest
// power of two that is not above p; if p is no power of two, some read n more in the beginning. A rank that is not the root
// has n bytes for partial results.
// Requires: nothing. Thakur, Rabenseifner and Gropp (Optimization of collective communication operations in MPICH, 2005);
// that all of it is read in place and stored into the root's buffer is ours.
//
// The root may make its partial results in that buffer as well: what others store there is made of what its partner has
// read before.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/halving.h"

namespace tutti {

namespace {

Task reduce_scatter_gather_body(Operation& operation, const ReduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const Folded folded(communicator.size());
  const Sequence sequence(communicator, *arguments.combiner);
  const int place = sequence.place(self);
  const bool is_root = self == arguments.root;
  ReductionBuffers buffers = expose_reduction(operation, arguments, is_root);
  if (!is_root && !folded.hands_over(place))
    buffers.destination =
        buffers.source.copied ? buffers.source : staging_buffer(operation, Side::destination, arguments.bytes());
  post_filling(operation, buffers, arguments.send);

  if (!folded.hands_over(place)) {
    const Halving halving(operation, buffers);
    co_await reduce_by_halving(operation, halving);
    if (!is_root) {
      co_await operation.posted(arguments.root);
      const std::size_t element = buffers.combiner->element_bytes;
      const topology::Range mine = halving.range(folded.steps);
      if (!mine.empty())
        operation.peer(arguments.root)
            .copy_to(posted_destination(operation, arguments.root), mine.begin * element,
                     buffers.destination.local + mine.begin * element, mine.length() * element, arguments.store);
      co_await operation.copied();
    }
    co_await leave_halving(operation, halving);
  } else {
    operation.publish_done();
    // It has read what this rank had when it has combined it.
    const int neighbor = sequence.rank(place - 1);
    co_await operation.has(neighbor, combined_so_often, 1);
  }
  if (!is_root) co_return;
  co_await operation.others_done();
  take_results(buffers, {}, arguments.store);
  collect_result(buffers);
}

}  // namespace

selection::Algorithm<ReduceArguments> reduce_reduce_scatter_gather{
    "reduce-scatter-gather",
    {"2 + log2 p, 1 more if p is no power of 2", "n (q-1)/q read, n/q stored; q: largest power of 2 up to p",
     "Thakur et al., IJHPCA 2005; in place: ours"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const Folded folded(shape.ranks);
      const double whole = folded.extra > 0 ? 1.0 : 0.0;
      const double last = 1.0 / (1 << folded.steps);
      const double read = 1.0 - last + whole;
      return selection::Cost{
          // Flag and data, or what a post says, one after the other; the root looks for all others.
          .hops = 6.2 + selection::step_with_another * selection::further_steps(folded.steps + whole) +
                  selection::one_looks * selection::further_ranks(shape),
          .rounds = 2 * (2.0 + folded.steps + whole),
          .remote_bytes = (read + last) * bytes,
          .written_bytes = last * bytes,
          .exchanged_bytes = (1.0 - last) * bytes,
          .slot_bytes = (shape.reach == selection::Reach::staged ? 2.0 : 0.5) * bytes,
          .reduced_bytes = 2 * read * bytes,
          .left_bytes = read * bytes,
          .exposures = 2,
          .startups = folded.steps + whole + 1 + read * bytes / usual_block_bytes,
          // All store into the root's buffer.
          .crowded_bytes = last * bytes,
          .crowd = shape.ranks - 1.0,
          // Neighbours exchange most.
          .across = across_neighbors(shape)};
    },
    {reduce_scatter_gather_body, halving_flags},
    {.stores_to_peers = true}};

}  // namespace tutti
