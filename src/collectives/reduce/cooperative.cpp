// Reduce of two ranks that reduce from both ends, straight into the root's buffer.
//
// Phase 1: both expose their send buffers, the root its receive buffer too, and says how many bytes there are. Phase 2:
// the other rank reduces from the front, the root from the back, until they meet; the other rank finds out whether that
// pays, and if not the root reduces everything, or each one half (MeetOrRead). Phase 3: both wait until the other has
// finished.
// A rank whose buffer peers cannot reach lends a copy, which the root reduces while it is made. Of a root with
// such buffers nobody reads or writes anything: it reduces everything.
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
/// What the root says: it reduces everything, as its buffers are not mapped.
constexpr std::uint64_t root_is_alone = 1;

/// A buffer that the other rank may load from and store to; nothing if it cannot.
Exposure expose_mapped(Communicator& communicator, const std::byte* buffer, std::size_t bytes) {
  const memory::Region region = communicator.node().reachable(buffer, bytes);
  return region.loads_and_stores() ? Exposure{region, const_cast<std::byte*>(buffer), false, false} : Exposure{};
}

Task body(Operation& operation, const ReduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int other = 1 - self;
  const bool is_root = self == arguments.root;
  const std::size_t element = arguments.combiner->element_bytes;
  Exposure source = is_root
                        ? expose_mapped(communicator, arguments.send, arguments.bytes())
                        : expose(operation, const_cast<std::byte*>(arguments.send), arguments.bytes(), Side::source);
  const Exposure result = is_root ? expose_mapped(communicator, arguments.receive, arguments.bytes()) : Exposure{};
  const bool mapped = source.local && result.local;
  // The root cannot tell how long it takes: the other rank finishes after it where it reduces everything.
  std::optional<MeetOrRead> choice;
  if (!is_root && !source.copied)
    choice.emplace(communicator, Learned::reduce, arguments.bytes(), arguments.store, true);
  operation.own().post.regions.bytes = arguments.bytes();
  const std::uint64_t own = is_root                    ? (mapped ? 0 : root_is_alone)
                            : source.copied            ? root_reduces_all
                            : !choice->meet()          ? root_reduces_all
                            : choice->through_caches() ? through_caches
                            : choice->apart()          ? by_halves
                                                       : 0;
  post_filling(operation, source, result, arguments.send, arguments.bytes(), own);
  co_await operation.others_posted();
  const std::uint64_t others = operation.slot(other).post.flag.get() & sync::progress_max;
  const std::uint64_t said = is_root ? others : own;
  const bool alone = ((is_root ? own : others) & root_is_alone) != 0;
  if (choice && !alone) choice->begins();
  const bool meet = !alone && (said & root_reduces_all) == 0;
  const memory::Store store = said == through_caches ? memory::Store::cached : arguments.store;
  const std::size_t theirs = operation.slot(other).post.regions.bytes;
  RemoteBuffer sources[2];
  posted_sources(operation, source, sources);
  RemoteBuffer destination{arguments.root, posted_destination(operation, arguments.root, result)};
  if (is_root && !meet) {
    sources[self].region = own_memory(arguments.send);
    destination.region = own_memory(arguments.receive);
  }

  // Where a range of bytes begins or ends within an element, that belongs to the range before.
  const auto elements_of = [element](std::size_t bytes) { return (bytes + element - 1) / element; };
  const std::size_t count = std::min(arguments.count, elements_of(theirs));
  const auto reduce = [&](std::size_t begin, std::size_t end) {
    const topology::Range range{std::min(count, elements_of(begin)), std::min(count, elements_of(end))};
    reduce_range(communicator, *arguments.combiner, range, sources, 2, &destination, 1, store);
  };
  // By the root's bytes on both ranks.
  const std::size_t bytes = is_root ? arguments.bytes() : theirs;
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
    Exposure source = expose(operation, send, arguments.bytes(), Side::source);
    post_filling(operation, source, {}, send, arguments.bytes());
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
      // Where buffers are not mapped the root reduces everything too; a copy overlaps with that but for its first piece.
      if (shape.bytes < shared_min || shape.reach != selection::Reach::mapped) {
        const bool staged = shape.reach == selection::Reach::staged;
        return selection::Cost{.hops = 3.0,
                               .rounds = 2,
                               .remote_bytes = bytes,
                               .slot_bytes = staged ? std::min<double>(bytes, memory::filled_at_once) : 0.0,
                               .reduced_bytes = bytes,
                               .exposures = 1,
                               .startups = std::max(1.0, bytes / usual_block_bytes),
                               .concurrency = 1};
      }
      // The root's part: it reads the other's half and more, the other rank reads and stores the rest.
      constexpr double part = 0.6;
      return selection::Cost{.hops = 4.4,
                             .rounds = 4,
                             .remote_bytes = bytes * (1 - part) * 2,
                             .reduced_bytes = bytes,
                             .exposures = 2,
                             .startups = 3.0 + bytes / usual_block_bytes,
                             .concurrency = 1};
    },
    run};

}  // namespace tutti
