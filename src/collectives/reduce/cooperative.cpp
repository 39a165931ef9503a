// Reduce of two ranks that reduce from both ends, straight into the root's buffer.
//
// Phase 1: both expose their send buffers, the root its receive buffer too, and says how many bytes there are. Phase 2:
// the other rank reduces from the front, the root from the back, until they meet; the other rank finds out whether that
// pays, and if not the root reduces everything, or each one half (MeetOrRead). Phase 3: both wait until the other has
// finished.
// Of small messages the root reduces alone: only the other rank exposes its buffer, and waits until it was read.
// Cost: two flag hops, and from there on those of the meeting; n bytes read by both together from each buffer, 3n/16 to
// 3n/4 of the result stored by the other rank, where shares of equal size have it store n/2; or all by the root.
// Requires: two ranks. Single copy, XHC section III.C; the meeting is ours: storing to the root's memory takes as long
// as reading it where the cores share a cache, and twice as long or more where they do not.

#include <optional>

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/meet_or_read.h"
#include "collectives/common/meeting.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// Of short messages as much on either side: 16 KiB leave no room to meet in. Of longer ones more to the root, which reads
/// faster than the other rank stores.
constexpr Meeting::Shares shares_of(std::size_t bytes) {
  if (bytes <= std::size_t{64} * 1024) return {.front = 4, .back = 12};
  return {.front = 3, .back = 10};
}
/// Without a meeting, as by share.
constexpr Meeting::Shares halves{.front = 8, .back = 8};

/// Below this the root reduces alone: to find each other, and what is faster, takes longer than to reduce half.
constexpr std::size_t shared_min = std::size_t{16} * 1024;

/// What the other rank says in its post: it stores its part through the caches; it has none; it has one half.
constexpr std::uint64_t through_caches = 1;
constexpr std::uint64_t root_reduces_all = 2;
constexpr std::uint64_t by_halves = 4;

Task body(Operation& operation, const ReduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int other = 1 - self;
  const bool is_root = self == arguments.root;
  const ReductionBuffers buffers = expose_reduction(operation, arguments.send, arguments.receive, is_root,
                                                    arguments.count, *arguments.combiner, false);
  const std::size_t element = buffers.combiner->element_bytes;
  // The root cannot tell how long it takes: the other rank finishes after it where it reduces everything.
  std::optional<MeetOrRead> choice;
  if (!is_root) choice.emplace(communicator, Learned::reduce, buffers.count * element, arguments.store, true);
  operation.own().post.regions.bytes = buffers.count * element;
  const std::uint64_t chosen = !choice                    ? 0
                               : !choice->meet()          ? root_reduces_all
                               : choice->through_caches() ? through_caches
                               : choice->apart()          ? by_halves
                                                          : 0;
  post(operation, buffers.source, buffers.destination, chosen);
  co_await operation.others_posted();
  if (choice) choice->begins();
  const std::uint64_t said = choice ? chosen : operation.slot(other).post.flag.get() & sync::progress_max;
  const bool meet = said != root_reduces_all;
  const memory::Store store = said == through_caches ? memory::Store::cached : arguments.store;
  const std::size_t theirs = operation.slot(other).post.regions.bytes;
  RemoteBuffer sources[2];
  posted_sources(operation, buffers.source, sources);
  const RemoteBuffer destination{arguments.root, posted_destination(operation, arguments.root, buffers.destination)};

  // Where a range of bytes begins or ends within an element, that belongs to the range before.
  const auto elements_of = [element](std::size_t bytes) { return (bytes + element - 1) / element; };
  const std::size_t count = std::min(buffers.count, elements_of(theirs));
  const auto reduce = [&](std::size_t begin, std::size_t end) {
    const topology::Range range{std::min(count, elements_of(begin)), std::min(count, elements_of(end))};
    reduce_range(communicator, *buffers.combiner, range, sources, 2, &destination, 1, store);
  };
  // By the root's bytes on both ranks.
  const std::size_t bytes = is_root ? buffers.count * element : theirs;
  const Meeting meeting(bytes, 2, said == by_halves ? halves : shares_of(bytes));
  if (!meet && is_root) {
    reduce(0, bytes);
    operation.publish(operation.own().done.flag[0]);
  } else if (!meet) {
    co_await operation.has(operation.slot(other).done.flag[0], 0, other);
  } else if (is_root) {
    meeting.help(operation, other, 1, reduce);
    co_await operation.has(operation.slot(other).done.flag[0], meeting.awaited(operation, 1), other);
  } else {
    reduce(0, meeting.front());
    co_await Meeting::meet(operation, meeting, other, 1, reduce);
  }
  if (choice) choice->ends();
  collect_result(buffers);
}

/// No coroutine: each waits for the other once.
void reduce_alone(Operation& operation, const ReduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int other = 1 - self;
  if (self == arguments.root) {
    operation.wait(operation.slot(other).post.flag, 0, other);
    RemoteBuffer sources[2];
    sources[self] = {self, own_memory(arguments.send)};
    sources[other] = {other, posted_source(operation, other)};
    const RemoteBuffer destination{self, own_memory(arguments.receive)};
    reduce_range(communicator, *arguments.combiner, {0, arguments.count}, sources, 2, &destination, 1, arguments.store);
    operation.publish(operation.own().done.flag[0]);
  } else {
    auto* const send = const_cast<std::byte*>(arguments.send);
    const Exposure source = expose(operation, send, arguments.bytes(), Side::source);
    if (source.copied) copy_bytes(source.local, send, arguments.bytes());
    post(operation, source, {});
    if (source.in_the_ring) return;
    operation.wait(operation.slot(other).done.flag[0], 0, other);
    communicator.check(other, operation.sequence());
  }
  communicator.seen_all(operation.sequence());
}

void run(Communicator& communicator, const ReduceArguments& arguments) {
  Operation operation(communicator, "Reduce");
  if (arguments.bytes() < shared_min) {
    reduce_alone(operation, arguments);
    return operation.complete();
  }
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ReduceArguments> reduce_cooperative;
const selection::Algorithm<ReduceArguments> reduce_cooperative{
    "cooperative",
    {"2", "n read; the other rank stores 3n/16 to 3n/4, n/2 or none", "XHC III.C; the meeting is ours"},
    {"two ranks", [](const selection::Shape& shape) { return shape.ranks == 2; }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double staged = shape.reach == selection::Reach::staged ? bytes : 0.0;
      if (shape.bytes < shared_min)
        return selection::Cost{.hops = 3.0,
                               .rounds = 2,
                               .remote_bytes = bytes,
                               .slot_bytes = staged,
                               .reduced_bytes = bytes,
                               .exposures = 1,
                               .startups = 1,
                               .concurrency = 1};
      // The root's part: it reads the other's half and more, the other rank reads and stores the rest.
      constexpr double part = 0.6;
      return selection::Cost{.hops = 4.4,
                             .rounds = 4,
                             .remote_bytes = bytes * (1 - part) * 2,
                             .slot_bytes = 2 * staged,
                             .reduced_bytes = bytes,
                             .exposures = 2,
                             .startups = 3.0 + bytes / usual_block_bytes,
                             .concurrency = 2};
    },
    run};

}  // namespace tutti
