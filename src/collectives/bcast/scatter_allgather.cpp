// Bcast as a scatter of the root's message and an allgather of the parts (van de Geijn), by reads.
//
// The message is cut into p blocks of whole pages; the rank at distance i from the root answers for block i, the root
// for block 0. Phase 1: every rank posts where its block is, the root where all is. Phase 2 (scatter): each rank copies
// its block from the root, chunk by chunk. Phase 3 (allgather, ring-source read): in step i it copies the block of the
// rank i before it, from that rank, as far as that one has it. Phase 4: it waits until the others have read its block.
// Cost: each rank reads n bytes in p copies. Only the scatter, n/p bytes of them, has p - 1 readers of one buffer; in
// the ring everybody reads from another rank. Flags: one hop for the root's post, one for each step of the ring, one
// for the end. The paper's T_scatter + T_allgather for parallel reads and ring-source.
// Requires: nothing. CMA-aware, section V.B, 3.

#include <cmath>

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// Grains of what a rank answers for that it has; the root, of all.
constexpr FlagName ready{Line::ready, 0};
constexpr FlagSet scatter_allgather_flags = FlagSet::of(ready, done_flag);

/// One call on one rank. Positions are distances from the root.
struct Parts {
  Parts(const Communicator& communicator, const BcastArguments& arguments)
      : root(arguments.root), ranks(communicator.size()), bytes(arguments.bytes), chunk(communicator.chunk_bytes()) {}
  const int root, ranks;
  const std::size_t bytes, chunk;

  topology::Range block(int position) const {
    return topology::share_of({0, bytes}, static_cast<std::size_t>(position), static_cast<std::size_t>(ranks),
                              grain_bytes);
  }
  int rank(int position) const { return rank_at(root, position, ranks); }
};

Task scatter_allgather_root(Operation& operation, const BcastArguments& arguments) {
  const Parts parts(operation.communicator(), arguments);
  const Exposure mine = expose(operation, arguments.buffer, parts.bytes, Side::source);
  post(operation, mine, {});
  const std::size_t step = mine.copied ? parts.chunk : parts.bytes;
  for (std::size_t at = 0; at < parts.bytes; at += step) {
    const std::size_t end = std::min(at + step, parts.bytes);
    if (mine.copied) copy_to_lend(operation, mine.local + at, arguments.buffer + at, end - at);
    operation.publish(ready, grains_complete(end, parts.bytes));
  }
  if (mine.in_the_ring) co_return;
  for (int i = 1; i < parts.ranks; ++i) co_await operation.done(parts.rank(i));
}

Task scatter_allgather_reader(Operation& operation, const BcastArguments& arguments) {
  const Parts parts(operation.communicator(), arguments);
  const int self = distance_of(operation.communicator().rank(), parts.root, parts.ranks);
  const topology::Range own = parts.block(self);
  const Exposure mine = expose(operation, arguments.buffer + own.begin, own.length(), Side::source);
  post(operation, mine, {});

  const memory::PeerTransfers from_root = operation.peer(parts.root);
  for (std::size_t at = own.begin; at < own.end; at += parts.chunk) {
    const std::size_t end = std::min(at + parts.chunk, own.end);
    co_await operation.has(parts.root, ready, grains_needed(end));
    std::byte* here = mine.local + (at - own.begin);
    from_root.copy_from(posted_source(operation, parts.root), at, here, end - at);
    co_await operation.copied();
    operation.publish(ready, grains_complete(end - own.begin, own.length()));
    if (mine.copied) copy_bytes(arguments.buffer + at, here, end - at);
  }
  for (int i = 1; i < parts.ranks; ++i) {
    const int position = (self - i + parts.ranks) % parts.ranks;
    const int owner = parts.rank(position);
    const topology::Range block = parts.block(position);  // block 0 begins where the root's region does
    for (std::size_t at = block.begin; at < block.end; at += parts.chunk) {
      const std::size_t end = std::min(at + parts.chunk, block.end);
      co_await operation.has(owner, ready, grains_needed(end - block.begin));
      operation.peer(owner).copy_from(posted_source(operation, owner), at - block.begin, arguments.buffer + at,
                                      end - at, arguments.store);
    }
  }
  co_await operation.copied();
  operation.publish_done();
  if (mine.in_the_ring) co_return;
  for (int i = 1; i < parts.ranks; ++i) co_await operation.done(parts.rank(i));
}

}  // namespace

selection::Algorithm<BcastArguments> bcast_scatter_allgather{
    "scatter-allgather",
    {"p + 2", "n in p blocks, of which one from a shared buffer", "CMA-aware V.B.3"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double ranks = shape.ranks;
      const bool staged = shape.reach == selection::Reach::staged;
      return selection::Cost{.hops = 2.0 + ranks,
                             // The blocks, that all have read theirs, that all have read theirs of the others.
                             .rounds = 5,
                             .copied_bytes = staged ? bytes / ranks : 0.0,
                             .remote_bytes = bytes,
                             .slot_bytes = staged ? bytes + bytes / ranks : 0.0,
                             .left_bytes = bytes,
                             .exposures = 2,
                             // No block is shorter than a grain.
                             .startups = std::min(ranks, std::ceil(bytes / grain_bytes)),
                             // All read their first part of p from the root, then each from another.
                             .crowded_bytes = bytes / ranks,
                             .crowd = ranks - 1,
                             .common = true,
                             .across = selection::Across::all};
    },
    {rooted<scatter_allgather_root, scatter_allgather_reader>, scatter_allgather_flags}};

}  // namespace tutti
