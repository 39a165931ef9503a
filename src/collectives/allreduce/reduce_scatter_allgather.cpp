// Allreduce of large messages by reduce-scatter and allgather, for any number of ranks.
//
// Phase 1: reduce-scatter by recursive halving (common/reducing/halving.h). Phase 2, the same steps backwards: each copies
// the half that its partner has. Phase 3: those who handed over copy everything from their neighbours.
// Cost: 2 log2 p steps, two more if p is no power of two. Each rank reads n (q-1)/q to combine and as much to copy, q the
// largest power of two that is not above p; if p is no power of two, some read n more in the beginning and some in the
// end. At any time one rank reads from another one alone.
// Requires: nothing. Thakur, Rabenseifner and Gropp (Optimization of collective communication operations in MPICH, 2005);
// that all of it is read in place is ours, and that the halves are taken from near to far, which keeps rank order for
// operators that do not commute. For others near and far are of the machine.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/halving.h"

namespace tutti {

namespace {

/// How many halves of the result a rank has, beginning with the shortest.
constexpr FlagName halves_there{Line::ready, 0};
constexpr FlagSet reduce_scatter_allgather_flags = FlagSet::of(halving_flags, halves_there);

/// Copies the elements of `range` out of the result of `rank` to their place at `to`: co_await operation.copied().
void fetch(Operation& operation, int rank, const Combiner& combiner, topology::Range range, std::byte* to,
           memory::Store store) {
  const std::size_t offset = range.begin * combiner.element_bytes;
  if (!range.empty())
    operation.peer(rank).copy_from(posted_destination(operation, rank), offset, to + offset,
                                   range.length() * combiner.element_bytes, store);
}

Task reduce_scatter_allgather_body(Operation& operation, const AllreduceArguments& arguments) {
  const Combiner& combiner = *arguments.combiner;
  const Folded folded(operation.communicator().size());
  const Sequence sequence(operation.communicator(), combiner);
  const int self = sequence.place(operation.communicator().rank());
  ReductionBuffers buffers = expose_reduction(operation, arguments, !folded.hands_over(self));
  post_filling(operation, buffers, arguments.send);
  const int all = folded.steps + 1;
  if (folded.hands_over(self)) {
    const int neighbor = sequence.rank(self - 1);
    co_await operation.has(neighbor, halves_there, all);
    fetch(operation, neighbor, combiner, {0, arguments.count}, arguments.receive, arguments.store);
    co_await operation.copied();
    operation.publish_done();
    co_return;
  }

  const Halving halving(operation, buffers);
  co_await reduce_by_halving(operation, halving);
  for (int step = folded.steps; step > 0; --step) {
    const int other = halving.partner(step - 1);
    const int halves = all - step;
    operation.publish(halves_there, halves);
    co_await operation.has(other, halves_there, halves);
    fetch(operation, other, combiner, halving.partners(step - 1), buffers.destination.local, memory::Store::cached);
    co_await operation.copied();
  }
  operation.publish(halves_there, all);
  co_await leave_halving(operation, halving);
  collect_result(buffers);
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_reduce_scatter_allgather{
    "reduce-scatter-allgather",
    {"2 log2 p, 2 more if p is no power of 2",
     "n (q-1)/q read to combine, as much copied; q: largest power of 2 up to p",
     "Thakur et al., IJHPCA 2005; in place: ours"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const Folded folded(shape.ranks);
      const double whole = folded.extra > 0 ? 1.0 : 0.0;
      const double part = 1.0 - 1.0 / (1 << folded.steps);
      const double steps = 2.0 * folded.steps + 2 * whole;
      return selection::Cost{// Flag and data, or what a post says, one after the other.
                             .hops = 6 + selection::step_with_another * selection::further_steps(steps - 1),
                             .rounds = 2 * (1 + steps),
                             .remote_bytes = 2 * (part + whole) * bytes,
                             .exchanged_bytes = 2 * part * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = 2 * (part + whole) * bytes,
                             .left_bytes = 2 * part * bytes,
                             .exposures = 2,
                             .startups = steps + (part + whole) * bytes / usual_block_bytes,
                             // Neighbours exchange most.
                             .across = across_neighbors(shape)};
    },
    {reduce_scatter_allgather_body, reduce_scatter_allgather_flags}};

}  // namespace tutti
