// Allgather, flat, single copy: every rank stores its block where it belongs on all others.
//
// Phase 1: every rank exposes its receive buffer. Phase 2: it reads its block once, piece by piece, and stores each
// piece into all receive buffers, its own too, while it is in the cache; what only the kernel can reach is written in
// one copy, beginning with the next rank in the machine's order. Phase 3: it waits until the others have written.
// Cost: two flag hops; n bytes read, p times n stored.
// Requires: nothing. CMA-aware, section V.A.2 (Ring-Source-Write).

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// Of the block at a time, so that it stays in the first-level cache until it is stored everywhere.
constexpr std::size_t piece_bytes = 4 * grain_bytes;

struct Target {
  int rank = 0;
  RemoteBlock block;
};

Task ring_source_write_body(Operation& operation, const AllgatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const topology::MachineOrder& order = communicator.order();
  const int self = communicator.rank();
  const int place = order.place(self);
  const Blocks& receive = arguments.receive;
  const auto count = static_cast<std::size_t>(ranks);
  const auto own_index = static_cast<std::size_t>(self);
  const std::byte* source = arguments.send ? arguments.send : receive.at(own_index);
  const ExposedBlocks mine =
      post_blocks(operation, {.blocks = receive, .count = count, .side = Side::destination, .skip = self});
  const std::size_t own_bytes = std::min(arguments.bytes, receive.size(own_index));

  if (arguments.bytes > 0) {
    Target* targets = operation.array<Target>(count);
    std::size_t mapped = 0;
    for (int i = 1; i < ranks; ++i) {
      const int rank = order.rank_after(place, i);
      co_await operation.posted(rank);
      Target target{rank, posted_block(operation, rank, own_index, Side::destination)};
      say_if_too_long(operation, rank, own_index, target.block.bytes, arguments.bytes);
      target.block.bytes = std::min(target.block.bytes, arguments.bytes);
      if (target.block.region.loads_and_stores())
        targets[mapped++] = target;
      else if (target.block.bytes > 0)
        operation.peer(rank).copy_to(target.block.region, target.block.offset, source, target.block.bytes);
    }
    operation.seen_all();
    // In one piece where nothing is stored by this rank itself.
    const std::size_t piece = mapped > 0 ? piece_bytes : arguments.bytes;
    for (std::size_t at = 0; at < arguments.bytes; at += piece) {
      for (std::size_t i = 0; i < mapped; ++i) {
        const RemoteBlock& block = targets[i].block;
        if (at < block.bytes)
          operation.peer(targets[i].rank)
              .copy_to(block.region, block.offset + at, source + at, std::min(piece, block.bytes - at),
                       arguments.store);
      }
      if (at < own_bytes)
        keep(receive.at(own_index) + at, source + at, std::min(piece, own_bytes - at), arguments.store);
    }
  }
  co_await operation.copied();
  operation.publish_done();
  for (int i = 1; i < ranks; ++i) {
    const int rank = order.rank_after(place, -i);
    const auto index = static_cast<std::size_t>(rank);
    if (receive.size(index) == 0) continue;
    co_await operation.done(rank);
    note_if_too_long(operation, receive, index);
    if (!mine.exposure.copied) take_stored(receive.at(index), receive.size(index), arguments.store);
  }
  collect_blocks(mine, receive, count, self);
}

}  // namespace

selection::Algorithm<AllgatherArguments> allgather_ring_source_write{
    "ring-source-write",
    {"2", "n read once, stored into all p receive buffers", "CMA-aware V.A.2"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      const double others = shape.ranks - 1;
      // Where ranks share cores this has the price of reads: each rank has to fetch what was stored past its caches, of
      // what is read one of a core fetches it for all.
      const double stored = shape.oversubscribed() ? 0.0 : others * bytes;
      return selection::Cost{
          .hops = 2.4 + (selection::one_stores + 2 * selection::all_look) * selection::further_ranks(shape),
          // All wait for all, at the beginning and at the end.
          .rounds = 4,
          .copied_bytes = bytes,
          .remote_bytes = others * bytes,
          .written_bytes = stored,
          .slot_bytes = reach == selection::Reach::staged ? others * bytes : 0.0,
          .exposures = 2,
          .startups = others,
          .by_kernel = reach == selection::Reach::kernel,
          .across = selection::Across::all};
    },
    {ring_source_write_body, only_done},
    {.stores_to_peers = true}};

}  // namespace tutti
