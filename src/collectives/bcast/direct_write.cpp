// Bcast by direct writes, flat: the root writes into everybody's buffer, one after the other.
//
// Phase 1: every other rank posts where its buffer is. Phase 2: the root stores the message into each, beginning with
// the rank after itself, and says so after each. Phase 3: a rank leaves as soon as its buffer is written; the root,
// whose buffer nobody reads, leaves after the last.
// Cost: two flag hops; (p - 1) n bytes written by the root, nothing by the others, and never two copies at a time: the
// paper's T_gather + (p-1) (alpha + n beta + l pages) + T_bcast. A rank whose buffer cannot be reached is written to in
// shared memory, chunk by chunk, and copies out behind the root.
// Requires: at most TUTTI_FLAT_MAX ranks. CMA-aware, section V.B, 1.

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// How the root's flag counts: so many steps a reader, of which one that copies out sees each.
struct Steps {
  Steps(const Communicator& communicator, std::size_t of)
      : bytes(of),
        chunk(std::max(communicator.chunk_bytes(),
                       of / (progress_max / static_cast<unsigned>(communicator.size() - 1)) + 1)) {}
  std::size_t bytes;
  std::size_t chunk;

  std::uint64_t each() const { return (bytes + chunk - 1) / chunk; }
  /// The flag's value when the bytes up to `end` of reader `index` (0, 1, ...) are written.
  std::uint64_t until(int index, std::size_t end) const {
    return static_cast<std::uint64_t>(index) * each() + (end + chunk - 1) / chunk;
  }
  /// Both sides know by the region whether its owner copies out.
  std::size_t piece(memory::Region region) const { return region.kind() == memory::Kind::arena ? chunk : bytes; }
};

Task direct_write_root(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Steps steps(communicator, arguments.bytes);
  for (int i = 0; i + 1 < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i + 1, communicator.size());
    co_await operation.posted(reader);
    const memory::Region region = posted_destination(operation, reader);
    const std::size_t piece = steps.piece(region);
    for (std::size_t at = 0; at < arguments.bytes; at += piece) {
      const std::size_t end = std::min(at + piece, arguments.bytes);
      operation.peer(reader).copy_to(region, at, arguments.buffer + at, end - at, arguments.store);
      co_await operation.copied();
      operation.publish_done(steps.until(i, end));
    }
  }
  operation.seen_all();
}

Task direct_write_reader(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Steps steps(communicator, arguments.bytes);
  const int index = distance_of(communicator.rank(), arguments.root, communicator.size()) - 1;
  const Exposure mine = expose(operation, arguments.buffer, arguments.bytes, Side::destination);
  post(operation, {}, mine);
  const std::size_t piece = steps.piece(mine.region);
  for (std::size_t at = 0; at < arguments.bytes; at += piece) {
    const std::size_t end = std::min(at + piece, arguments.bytes);
    co_await operation.done(arguments.root, steps.until(index, end));
    if (mine.copied)
      copy_bytes(arguments.buffer + at, mine.local + at, end - at);
    else
      take_stored(arguments.buffer + at, end - at, arguments.store);
  }
}

}  // namespace

selection::Algorithm<BcastArguments> bcast_direct_write{
    "direct-write",
    {"2", "(p-1) n, all by the root, for one rank after the other", "CMA-aware V.B.1"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double readers = shape.ranks - 1.0;
      return selection::Cost{
          .hops = 2.4 + (selection::one_stores + selection::one_looks) * selection::further_ranks(shape),
          // It waits for everybody's post, and everybody for it: no rank does both in one turn.
          .rounds = 4,
          .remote_bytes = readers * bytes,
          .written_bytes = readers * bytes,
          .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
          .exposures = 2,
          .startups = readers,
          .workers = 1,
          .across = selection::Across::all};
    },
    {rooted<direct_write_root, direct_write_reader>, only_done},
    {.stores_to_peers = true}};

}  // namespace tutti
