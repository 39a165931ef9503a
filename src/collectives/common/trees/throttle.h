// Throttled Scatter and Gather: the ranks after the root, in the machine's order, form k chains in which one after the
// other copies.
#pragma once

#include <cmath>

#include "collectives/algorithm.h"

namespace tutti {

/// Distance from the root of the first of the last k ranks. These end the chains: each has waited for all before it.
constexpr int last_of_chains(int ranks, int k) {
  return std::max(1, ranks - k);
}

/// The root's part: exposes `blocks` for `side`, copies its own one and waits for the last of each chain. Then it calls
/// at_end(mine), mine being what it has exposed; not if nobody need wait until all have read.
template <class Arguments, class AtEnd>
Task lead_chains(Operation& operation, const Arguments& arguments, const Blocks& blocks, Side side, AtEnd at_end) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const ExposedBlocks mine =
      post_blocks(operation, {.blocks = blocks, .count = ranks, .side = side, .skip = arguments.root});
  keep_own_block(communicator, arguments);
  if (side == Side::source && mine.exposure.in_the_ring) co_return;
  const topology::MachineOrder& order = communicator.order(arguments.root);
  for (int i = last_of_chains(communicator.size(), arguments.parameter); i < communicator.size(); ++i) {
    const int rank = order.rank(i);
    co_await operation.done(rank);
  }
  operation.seen_all();
  at_end(mine);
}

/// The part of the others: copy(), when the rank before in the chain has finished.
template <class Arguments, class Copy>
Task copy_in_turn(Operation& operation, const Arguments& arguments, Copy copy) {
  Communicator& communicator = operation.communicator();
  const topology::MachineOrder& order = communicator.order(arguments.root);
  const int distance = order.place(communicator.rank());
  // One without a block waits too: it stands for all before it in its chain.
  if (distance > arguments.parameter) {
    const int before = order.rank(distance - arguments.parameter);
    co_await operation.done(before);
  }
  if (arguments.bytes > 0) {
    co_await operation.posted(arguments.root);
    copy();
    co_await operation.copied();
  }
  operation.publish_done();
}

/// Powers of two below the number of ranks that copy.
inline int throttle_candidate(const selection::Shape& shape, int index) {
  const int k = index < 16 ? 1 << index : 0;
  return index == 0 || k < shape.ranks - 1 ? k : 0;
}

/// writes: into the root's buffer (Gather), instead of reading from it.
template <bool writes>
selection::Cost throttled_cost(const selection::Shape& shape) {
  const auto bytes = static_cast<double>(shape.bytes);
  const double others = shape.ranks - 1;
  const double k = std::min<double>(std::max(1, shape.parameter), others);
  const double steps = std::ceil(others / k);
  const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
  return {.hops = 2.2 + steps + selection::there_and_back * (k - 1),
          .rounds = 1 + steps,
          .remote_bytes = bytes * steps,
          .written_bytes = writes ? bytes * steps : 0.0,
          .slot_bytes = reach == selection::Reach::staged ? bytes * others : 0.0,
          .left_bytes = writes ? 0.0 : bytes * others,
          .exposures = 1,
          .startups = reach == selection::Reach::kernel ? steps : 0.0,
          .by_kernel = reach == selection::Reach::kernel,
          .concurrency = k,
          .workers = others / steps,
          .held_bytes = bytes * (shape.ranks + 1),
          .beside = {.copied_bytes = bytes}};
}

}  // namespace tutti
