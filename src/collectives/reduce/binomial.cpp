// Reduce of small messages along a binomial tree through slots, for any number of ranks.
//
// Ranks are counted in the machine's order where the operator commutes, else by their numbers.
// Step i = 0, 1, ...: blocks of 2^i consecutive ranks join in pairs. The root stands for the block that it is in, the
// first rank for any other. Of the two that join, who stands for both combines what the other has left in its slot with
// its own, in rank order, and the other is finished. Partial results are made in the slots, the root's in its buffer.
// Cost: log2 p flag hops and data after each; the root fetches and combines n bytes as often, each other writes n.
// Requires: n <= TUTTI_EAGER_MAX. Operators need not commute. The tree is that of Thakur, Rabenseifner and Gropp
// (Optimization of collective communication operations in MPICH, 2005). That it ends at any root in rank order is ours.

#include <bit>

#include "collectives/algorithm.h"
#include "collectives/common/reducing/sequence.h"

namespace tutti {

namespace {

/// A rank's partial result is there.
constexpr FlagName reduced_there{Line::ready, 0};
constexpr FlagSet binomial_flags = FlagSet::of(reduced_there);

/// Who stands for block `block` of 2^step ranks.
int representative(int block, int step, int root) {
  return root >> step == block ? root : block << step;
}

Task binomial_body(Operation& operation, const ReduceArguments& arguments) {
  const int ranks = operation.communicator().size();
  const Sequence sequence(operation.communicator(), *arguments.combiner);
  const int self = sequence.place(operation.communicator().rank());
  const int root = sequence.place(arguments.root);
  std::byte* const own_slot = operation.own_data();
  std::byte* const result = self == root ? arguments.receive : own_slot;
  const std::byte* have = arguments.send;
  for (int step = 0; 1 << step < ranks; ++step) {
    const int block = self >> step;
    const int neighbor = block ^ 1;
    if (neighbor << step >= ranks) continue;
    if (representative(block / 2, step + 1, root) != self) break;
    const int other = sequence.rank(representative(neighbor, step, root));
    co_await operation.has(other, reduced_there, 1);
    const std::byte* const theirs = operation.data(other);
    const void* const operands[] = {neighbor < block ? theirs : have, neighbor < block ? have : theirs};
    (*arguments.combiner)(result, operands, 2, arguments.count);
    operation.communicator().peer(other).loaded(arguments.bytes());
    have = result;
  }
  if (have != result) copy_bytes(result, have, arguments.bytes());
  if (self == root) co_return;
  operation.publish(reduced_there, 1);
}

}  // namespace

selection::Algorithm<ReduceArguments> reduce_binomial{
    "binomial",
    {"log2 p", "n in, n log2 p read by the root", "Thakur et al., IJHPCA 2005; through slots: ours"},
    {"at most TUTTI_EAGER_MAX bytes", [](const selection::Shape& shape) { return shape.small(); }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double steps = std::bit_width(static_cast<unsigned>(shape.ranks - 1));
      return selection::Cost{// Flag and data are two lines, fetched one after the other.
                             .hops = 2 + selection::step_with_another * selection::further_steps(steps),
                             .rounds = 2 * steps,
                             .remote_bytes = steps * bytes,
                             .slot_bytes = bytes,
                             .reduced_bytes = 2 * steps * bytes,
                             // Neighbours are joined in the first steps, those far away in the last.
                             .across = across_neighbors(shape)};
    },
    {binomial_body, binomial_flags}};

}  // namespace tutti
