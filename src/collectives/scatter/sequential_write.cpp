// Scatter, flat, single copy: the root writes to one after the other.
//
// Phase 1: every rank exposes its receive buffer. Phase 2: the root copies its own block, then writes each block into
// its receiver's buffer, in rank order from its own on, and tells after each how many are done. Nobody contends.
// Cost: two flag hops; (p-1) n bytes copied by the root: p (alpha + n beta + l n/s).
// Requires: nothing; every receiver announces the size of its buffer. CMA-aware, section IV.A.2.

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// In an irregular call the root says how much each receiver was to get, in its data area: who has less room learns it.
std::size_t* sizes_said(Operation& operation, int root) {
  return reinterpret_cast<std::size_t*>(operation.data(root));
}

Task sequential_write_root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int receiver = rank_at(arguments.root, i, communicator.size());
    const Block own = arguments.send[receiver];
    if (own.bytes > 0) {
      co_await operation.posted(receiver);
      push(operation, receiver, 0, own, arguments.store);
      co_await operation.copied();
    }
    if (!arguments.regular) sizes_said(operation, arguments.root)[receiver] = own.bytes;
    operation.publish_done(i);
  }
  if (arguments.regular) operation.seen_all();
}

Task receiver(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Blocks block = Blocks::regular(arguments.receive, arguments.bytes);
  const ExposedBlocks mine = post_blocks(operation, {block, 1, Side::destination});
  if (arguments.bytes == 0) co_return;
  const int distance = distance_of(communicator.rank(), arguments.root, communicator.size());
  co_await operation.done(arguments.root, distance);
  if (!arguments.regular)
    operation.fitting(sizes_said(operation, arguments.root)[communicator.rank()], arguments.bytes);
  if (!mine.exposure.copied) take_stored(arguments.receive, arguments.bytes, arguments.store);
  collect_blocks(mine, block, 1);
}

}  // namespace

selection::Algorithm<ScatterArguments> scatter_sequential_write{
    "sequential-write",
    {"2", "(p-1) n, all by the root", "CMA-aware IV.A.2"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      const selection::Reach reach = shape.reach_of_blocks(1);
      return selection::Cost{
          .hops = 2.4 + (selection::one_stores + selection::one_looks) * selection::further_ranks(shape),
          // It waits for everybody's post, and everybody for it: no rank does both in one turn.
          .rounds = 4,
          .copied_bytes = bytes,
          .remote_bytes = bytes * others,
          .written_bytes = bytes * others,
          .slot_bytes = reach == selection::Reach::staged ? bytes : 0.0,
          .exposures = 1,
          .startups = reach == selection::Reach::kernel ? others : 0.0,
          .workers = 1,
          .held_bytes = bytes * (shape.ranks + 1),
          .across = selection::Across::all};
    },
    {rooted<sequential_write_root, receiver>, only_done},
    {.stores_to_peers = true}};

}  // namespace tutti
