// Bcast, flat, single copy, the root copies too.
//
// Phase 1: every rank exposes its buffer. Phase 2: each reader copies the front of the root's buffer; meanwhile the root
// stores the back part, n/p bytes, into the buffer of each reader that it can store to. Phase 3: all wait until the root
// and the readers have finished.
// Cost: two flag hops; n (p-1)/p bytes copied by every rank, the root included, where a pull alone copies n.
// Requires: at most TUTTI_FLAT_MAX ranks. Whether the root stores into a reader's buffer follows from what that reader
// exposed, which both know. The single-copy pull is XHC's (section IV.A) without hierarchy.

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/exposure.h"

namespace tutti {

namespace {

/// Where the part that the root stores begins: on a page, so that both sides stay in their own.
std::size_t reader_part(std::size_t bytes, int ranks) {
  const std::size_t root_part = bytes / static_cast<std::size_t>(ranks);
  return (bytes - root_part) & ~(grain_bytes - 1);
}

void copy_in(Operation& operation, const BcastArguments& arguments, const Exposure& mine) {
  for (std::size_t at = 0; at < arguments.bytes; at += 8 * grain_bytes) {
    const std::size_t end = std::min(at + 8 * grain_bytes, arguments.bytes);
    copy_bytes(mine.local + at, arguments.buffer + at, end - at);
    operation.publish(operation.own().ready.flag[0], grains_complete(end, arguments.bytes));
  }
}

Task root(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Exposure mine = expose(operation, arguments.buffer, arguments.bytes, Side::source);
  post(operation, mine, {});
  if (mine.copied)
    copy_in(operation, arguments, mine);
  else
    operation.publish(operation.own().ready.flag[0], grains_complete(arguments.bytes, arguments.bytes));

  const std::size_t middle = reader_part(arguments.bytes, communicator.size());
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = (arguments.root + i) % communicator.size();
    co_await operation.has(operation.slot(reader).post.flag, 0, reader);
    const memory::Region region = posted_destination(operation, reader);
    if (region.loads_and_stores())
      communicator.peer(reader).copy_to(region, middle, arguments.buffer + middle, arguments.bytes - middle,
                                        arguments.store);
    // One flag a reader: nobody waits for the root's copies to the others.
    operation.publish(operation.own().done.flag[0], static_cast<std::uint64_t>(i));
  }
  communicator.seen_all(operation.sequence());
  if (mine.in_the_ring) co_return;
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = (arguments.root + i) % communicator.size();
    co_await operation.has(operation.slot(reader).done.flag[0], 0, reader);
  }
}

Task reader(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  const int distance = (communicator.rank() - root + communicator.size()) % communicator.size();
  const memory::Region reachable = communicator.node().reachable(arguments.buffer, arguments.bytes);
  // The root stores only where it can do so directly; anything else is read by its owner.
  const bool root_stores = reachable.loads_and_stores();
  post(operation, {}, root_stores ? Exposure{reachable, arguments.buffer, false, false} : Exposure{});

  const std::size_t end = root_stores ? reader_part(arguments.bytes, communicator.size()) : arguments.bytes;
  co_await operation.has(operation.slot(root).post.flag, 0, root);
  const memory::Region source = posted_source(operation, root);
  for (std::size_t at = 0; at < end; at += 8 * grain_bytes) {
    const std::size_t part = std::min(8 * grain_bytes, end - at);
    co_await operation.has(operation.slot(root).ready.flag[0], grains_needed(at + part), root);
    communicator.peer(root).copy_from(source, at, arguments.buffer + at, part, arguments.store);
  }
  operation.publish(operation.own().done.flag[0]);
  if (root_stores)
    co_await operation.has(operation.slot(root).done.flag[0], static_cast<std::uint64_t>(distance), root);
}

void run(Communicator& communicator, const BcastArguments& arguments) {
  Operation operation(communicator, "Bcast");
  if (communicator.rank() == arguments.root)
    operation.run(root(operation, arguments));
  else
    operation.run(reader(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<BcastArguments> bcast_cooperative;
const selection::Algorithm<BcastArguments> bcast_cooperative{
    "cooperative", "at most TUTTI_FLAT_MAX ranks",
    [](const selection::Shape& shape) { return static_cast<std::size_t>(shape.ranks) <= shape.flat_max; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      // Only where buffers are mapped the root stores its part. Where it stages, copying out overlaps with copying in.
      const double read = shape.reach == selection::Reach::mapped   ? others * bytes
                          : shape.reach == selection::Reach::kernel ? bytes
                                                                    : std::min(bytes, 8.0 * grain_bytes);
      const double stored = shape.reach == selection::Reach::mapped ? others * bytes : 0.0;
      return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                             // The root waits for the readers' posts, they for it, and it for their end.
                             .rounds = stored > 0 ? 4.0 : 2.0,
                             .remote_bytes = read,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .exposures = 2,
                             .startups = std::max(1.0, bytes / (8 * grain_bytes)),
                             .concurrency = shape.ranks - 1.0,
                             .workers = shape.ranks - 1.0,
                             .beside = {.remote_bytes = stored, .written_bytes = stored}};
    },
    run};

}  // namespace tutti
