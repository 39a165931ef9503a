// Bcast down a k-nomial tree: at most k ranks read from one buffer at a time.
//
// The tree is of ranks in the machine's order, beginning with those near the root: neighbours in it join few ranks each.
// Phase 1: every rank with children posts where its buffer is. Phase 2: it copies chunk by chunk from its parent and
// says how far it is; k children read from it side by side, the next k begin when these have read everything, each told
// by the one in its place before it. Phase 3: a rank waits until its children have read.
// Cost: ceil(log_{k+1} p) steps of two flag hops and n bytes, k reading from the same pages: the paper's T_bcast +
// ceil(log_k p) (alpha + n beta + l gamma(k) pages), where k counts the holder too. k = 1 is the binomial tree, k = p -
// 1 the direct read. A rank begins to hand on with its first chunk, so its children do not wait for its last.
// Requires: nothing. CMA-aware, section V.B, 2.

#include <iterator>

#include "collectives/algorithm.h"
#include "collectives/common/trees/pull.h"
#include "topology/knomial.h"

namespace tutti {

namespace {

Task knomial_read_body(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const topology::Knomial tree(communicator.size(), arguments.parameter);
  // The tree counts from the root.
  const topology::MachineOrder& order = communicator.order(arguments.root);
  const int self = order.place(communicator.rank());
  const auto rank_of = [&](int place) { return place < 0 ? -1 : order.rank(place); };
  TreePlace place;
  place.parent = rank_of(tree.parent(self));
  place.predecessor = rank_of(tree.predecessor(self));
  place.chunk_bytes = communicator.chunk_bytes();
  tree.for_each_child(self, [&](int) { ++place.child_count; });
  int* children = operation.array<int>(static_cast<std::size_t>(place.child_count));
  place.children = children;
  tree.for_each_child(self, [&](int child) { *children++ = rank_of(child); });
  return pull_down(operation, arguments, place, false);
}

int readers_candidate(const selection::Shape& shape, int index) {
  constexpr int readers[] = {1, 2, 3, 4, 6, 8, 12, 16};
  return index < static_cast<int>(std::size(readers)) && readers[index] < shape.ranks ? readers[index] : 0;
}

}  // namespace

selection::Algorithm<BcastArguments> bcast_knomial_read{
    "knomial-read",
    {"2 a step, log_{k+1} p steps", "n, at most k from one buffer at once", "CMA-aware V.B.2"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double depth = topology::Knomial(shape.ranks, shape.parameter).depth();
      return selection::Cost{
          .hops = (2.2 + selection::there_and_back * (shape.parameter - 1)) * depth,
          // Down level by level; a rank waits only for its own children to have read.
          .rounds = depth + 1,
          .copied_bytes = shape.reach == selection::Reach::staged ? (depth - 1) * bytes : 0.0,
          .remote_bytes = depth * bytes,
          .slot_bytes = shape.reach == selection::Reach::staged ? depth * bytes : 0.0,
          .left_bytes = bytes,
          .exposures = 2,
          // Who hands on copies chunk by chunk.
          .startups = 1 + (depth - 1) * std::max(1.0, bytes / static_cast<double>(usual_chunk_bytes(1, shape.bytes))),
          .concurrency = std::min(static_cast<double>(shape.parameter), shape.ranks - 1.0),
          // In all the message is read p - 1 times.
          .workers = std::max(1.0, (shape.ranks - 1.0) / std::max(1.0, depth)),
          .common = true};
    },
    {knomial_read_body, pull_flags},
    {},
    {"k", readers_candidate}};

}  // namespace tutti
