// Scatter, flat, single copy: all read at once.
//
// Phase 1: the root exposes its blocks. Phase 2: every rank reads its block from the root's buffer while the root
// copies its own. Phase 3: the root waits until all have read, unless what they read is a copy in its slot.
// Small blocks of Scatterv come packed from the root, which waits for nobody.
// Cost: two flag hops; n bytes copied by every rank. The kernel's copies contend for the root's pages:
// alpha + n beta + l gamma(p-1) n/s.
// Requires: nothing; the sizes of Scatterv are announced by the root. CMA-aware, section IV.A.1.

#include "collectives/algorithm.h"
#include "collectives/common/buffers/packed_blocks.h"

namespace tutti {

namespace {

PackedBlocks::Form form_of(const Communicator& communicator, const ScatterArguments& arguments) {
  return arguments.regular ? PackedBlocks::Form{} : PackedBlocks::form_of_all(communicator, arguments.send);
}

Task parallel_read_root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  if (const PackedBlocks::Form form = form_of(communicator, arguments); form.place != PackedBlocks::Place::none) {
    PackedBlocks(operation).send_all(form, arguments.send);
    keep_own_block(communicator, arguments);
    co_return;
  }
  const bool prefer_slot = !arguments.regular && communicator.node().oversubscribed;
  const ExposedBlocks mine = post_blocks(operation, {arguments.send, ranks, Side::source, prefer_slot, arguments.root});
  keep_own_block(communicator, arguments);
  if (mine.exposure.in_the_ring) co_return;
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    if (arguments.send[reader].bytes > 0) co_await operation.done(reader);
  }
  if (arguments.regular) operation.seen_all();
}

Task parallel_read_reader(Operation& operation, const ScatterArguments& arguments) {
  const int self = operation.communicator().rank();
  if (arguments.bytes > 0) {
    co_await operation.posted(arguments.root);
    if (!arguments.regular && PackedBlocks(operation).open(arguments.root, PackedBlocks::index_of(self, arguments.root),
                                                           arguments.receive, arguments.bytes))
      co_return;
    pull(operation, arguments.root, self, arguments.own(), arguments.store);
    co_await operation.copied();
  }
  operation.publish_done();
}

std::uint64_t in_flight(const Communicator& communicator, const ScatterArguments& arguments) {
  if (communicator.rank() != arguments.root) return ring_slots;  // it uses no data area
  return PackedBlocks::in_flight(form_of(communicator, arguments));
}

}  // namespace

selection::Algorithm<ScatterArguments> scatter_parallel_read{
    "parallel-read",
    {"2; 1 if small and irregular", "n, all at once", "CMA-aware IV.A.1"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
      return selection::Cost{.hops = 2.4 + selection::there_and_back * selection::further_ranks(shape),
                             .rounds = 2,
                             .remote_bytes = bytes,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .left_bytes = bytes * (shape.ranks - 1),
                             .exposures = 1,
                             .startups = reach == selection::Reach::kernel ? 1.0 : 0.0,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes}};
    },
    {rooted<parallel_read_root, parallel_read_reader>, only_done, in_flight},
    {.lends = Readers::one, .packs_small = true}};

}  // namespace tutti
