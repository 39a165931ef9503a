// Scatter, flat, single copy: all read at once.
//
// Phase 1: the root exposes its blocks. Phase 2: every rank reads its block from the root's buffer while the root
// copies its own. Phase 3: the root waits until all have read, unless what they read is a copy in its slot.
// Small blocks of Scatterv come packed from the root, which waits for nobody.
// Cost: two flag hops; n bytes copied by every rank. The kernel's copies contend for the root's pages:
// alpha + n beta + l gamma(p-1) n/s.
// Requires: nothing; the sizes of Scatterv are announced by the root. CMA-aware, section IV.A.1.

#include "collectives/collectives.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/buffers/packed_blocks.h"
#include "collectives/common/trees/rooted.h"

namespace tutti {

namespace {

/// False, without having begun, if the blocks should not travel packed.
bool send_packed(Communicator& communicator, const ScatterArguments& arguments) {
  const Blocks& blocks = arguments.send;
  PackedBlocks::Lengths lengths;
  const auto for_each = [&](auto&& use) {
    for (int rank = 0; rank < communicator.size(); ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      if (rank != arguments.root) use(PackedBlocks::index_of(rank, arguments.root), blocks.size(i), blocks.at(i));
    }
  };
  for_each([&](std::size_t index, std::size_t bytes, const std::byte* from) { lengths.add(index, bytes, from); });
  PackedBlocks packed(communicator);
  const PackedBlocks::Form form = packed.form_for(lengths);
  if (form.place == PackedBlocks::Place::none) return false;
  const std::uint64_t sequence = communicator.begin(PackedBlocks::in_flight(form));
  for_each([&](std::size_t index, std::size_t bytes, const std::byte* from) {
    packed.write(sequence, form, index, from, bytes);
  });
  packed.send(sequence, form, lengths.count);
  keep_own_block(communicator, arguments);
  communicator.complete(sequence);
  return true;
}

Task root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool prefer_slot = !arguments.regular && communicator.node().oversubscribed;
  const ExposedBlocks mine = post_blocks(operation, arguments.send, ranks, Side::source, prefer_slot, arguments.root);
  keep_own_block(communicator, arguments);
  if (mine.exposure.in_the_ring) co_return;
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    if (arguments.send.size(static_cast<std::size_t>(reader)) == 0) continue;
    co_await operation.has(operation.slot(reader).done.flag[0], 0, reader);
  }
  if (arguments.regular) communicator.seen_all(operation.sequence());
}

/// No coroutine: it waits for one thing only.
void read(Communicator& communicator, const ScatterArguments& arguments) {
  const int self = communicator.rank();
  const std::uint64_t sequence = communicator.begin(ring_slots);
  bool answer = true;
  if (arguments.bytes > 0) {
    wait_for_post(communicator, sequence, arguments.root, "Scatter");
    if (!arguments.regular && PackedBlocks(communicator)
                                  .open(sequence, arguments.root, PackedBlocks::index_of(self, arguments.root),
                                        arguments.receive, arguments.bytes)) {
      answer = false;
    } else {
      const RemoteBlock block =
          posted_block(communicator, sequence, arguments.root, static_cast<std::size_t>(self), Side::source);
      if (const std::size_t bytes = fitting(communicator, block.bytes, arguments.bytes))
        communicator.peer(arguments.root)
            .copy_from(block.region, block.offset, arguments.receive, bytes, arguments.store);
    }
  }
  if (answer) {
    communicator.slot(self, sequence).done.flag[0].set(sync::stamp(sequence));
    communicator.published();
  }
  communicator.complete(sequence);
}

void run(Communicator& communicator, const ScatterArguments& arguments) {
  if (communicator.rank() != arguments.root) {
    read(communicator, arguments);
  } else if (arguments.regular || !send_packed(communicator, arguments)) {
    Operation operation(communicator, "Scatter");
    operation.run(root(operation, arguments));
  }
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> scatter_parallel_read;
const selection::Algorithm<ScatterArguments> scatter_parallel_read{
    "parallel-read",
    {"2; 1 if small and irregular", "n, all at once", "CMA-aware IV.A.1"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             .rounds = 2,
                             .remote_bytes = bytes,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 1,
                             .startups = reach == selection::Reach::kernel ? 1.0 : 0.0,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes}};
    },
    run};

}  // namespace tutti
