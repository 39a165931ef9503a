// Allreduce of two ranks that find out whether to deliver their halves.
//
// Phase 1: both expose their buffers, and rank 0 says whether this time they deliver; each waits for the other.
// Phase 2: each reduces its half of the index range from both send buffers into its receive buffer. If they deliver, it
// stores each block into the other's receive buffer as well, while it is in the cache, past the other's caches or
// through them (store_ways.h); if not, it reduces the other half itself too. Phase 3: both wait until the other has
// finished.
// A rank whose buffers peers cannot reach lends a copy of its contribution, which it makes piece by piece, and reduces
// each piece right after. Then neither delivers: its result would be one copy more.
// What is faster depends on whether the two share a cache at present: rank 0 times all ways from the first wait to the
// last and keeps to the best one (Ways). The same bits come out of all.
// Cost: two flag hops; n bytes read or, delivered, n/2 read and n/2 stored.
// Requires: two ranks. Delivered this is share, kept it is direct; the choice is ours.

#include "collectives/collectives.h"
#include "collectives/common/reducing/share.h"
#include "collectives/common/store_ways.h"

namespace tutti {

namespace {

// What a rank says in its post, as the bytes of its regions.
/// Rank 0: both store their halves into the other's buffer.
constexpr std::uint64_t deliver = 1;
/// Its results overwrite its contribution, so that nobody may read that but who reduces it.
constexpr std::uint64_t overwrites = 2;
/// Rank 0: delivered through the caches.
constexpr std::uint64_t through_caches = 4;
/// Its contribution is a copy, and its results are not where they could be stored for it.
constexpr std::uint64_t lends_copy = 8;

Task body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int other = 1 - self;
  ReductionBuffers buffers =
      expose_reduction(operation, arguments.send, arguments.receive, true, arguments.count, *arguments.combiner, false);
  const bool copied = buffers.source.copied || buffers.destination.copied;
  const bool in_place = !copied && buffers.source.local == buffers.destination.local;
  std::uint64_t own = copied ? lends_copy : in_place ? overwrites : 0;
  // In place its contribution must not change under the other's eyes: it delivers, and finds out how to store.
  const int ways = in_place ? ways_of(arguments.store) - 1 : ways_of(arguments.store);
  const Learned what = in_place ? Learned::allreduce_in_place : Learned::allreduce;
  const bool chooses = self == 0 && ways > 1;
  Trial trial(chooses ? &communicator.ways(what, buffers.count * buffers.combiner->element_bytes) : nullptr, ways);
  const int way = in_place && trial.way() == 1 ? way_through_caches : trial.way();
  if (way != way_reads) own |= deliver;
  if (way == way_through_caches) own |= through_caches;
  operation.own().post.regions.bytes = own;
  const std::size_t bytes = buffers.count * buffers.combiner->element_bytes;
  let_fill(buffers);
  const bool fills = buffers.source.region.kind() == memory::Kind::filling;
  std::size_t filled = 0;
  const auto fill_up_to = [&](std::size_t end) {
    if (end > filled) fill(communicator, buffers.source, filled, arguments.send + filled, end - filled);
    filled = std::max(filled, end);
  };
  if (buffers.source.in_the_ring) fill_up_to(bytes);
  post(operation, buffers.source, buffers.destination);
  // Of the copy so much before the other comes; what is left is reduced right after, out of the cache.
  while (fills && filled < bytes && !operation.slot(other).post.flag.has(operation.stamp()))
    fill_up_to(std::min(bytes, filled + memory::filled_at_once));

  co_await operation.others_posted();
  const std::uint64_t theirs = operation.slot(other).post.regions.bytes;
  RemoteBuffer sources[2];
  posted_sources(operation, buffers.source, sources);
  RemoteBuffer destinations[2] = {{self, buffers.destination.region},
                                  {other, posted_destination(operation, other, buffers.destination)}};
  const std::uint64_t chosen = self == 0 ? own : theirs;
  const bool must_deliver = ((own | theirs) & overwrites) != 0;
  const bool must_read = !must_deliver && ((own | theirs) & lends_copy) != 0;
  // Rank 0 cannot know before that the other one's result is in place where its own is not, or that it lends a copy.
  const bool as_chosen = !must_read && (!must_deliver || (chosen & overwrites) != 0);
  if (as_chosen) trial.begins();
  const bool delivered = must_deliver || (!must_read && (chosen & deliver) != 0);
  const bool cached = as_chosen && (chosen & through_caches) != 0;
  const memory::Store store = cached ? memory::Store::cached : arguments.store;
  const auto reduce = [&](topology::Range range, std::size_t copies) {
    reduce_range(communicator, *buffers.combiner, range, sources, 2, destinations, copies, store);
  };
  if (copied && must_read) {
    // What is in place is overwritten, piece by piece; the copy is not.
    sources[self].region = own_memory(arguments.send == arguments.receive ? buffers.source.local : arguments.send);
    destinations[0].region = own_memory(arguments.receive);
  }
  if (fills && !must_read) fill_up_to(bytes);
  if (fills && must_read) {
    const std::size_t element = buffers.combiner->element_bytes;
    const std::size_t piece = std::max<std::size_t>(1, memory::filled_at_once / element);
    for (std::size_t at = 0; at < buffers.count; at += piece) {
      const std::size_t end = std::min(at + piece, buffers.count);
      fill_up_to(end * element);
      reduce({at, end}, 1);
    }
  } else if (delivered) {
    reduce(share_of_rank(communicator, self, buffers), 2);
  } else {
    reduce(share_of_rank(communicator, self, buffers), 1);
    reduce(share_of_rank(communicator, other, buffers), 1);
  }
  operation.publish(operation.own().done.flag[0]);
  co_await operation.others_done();
  trial.ends();
  if (!must_read) collect_result(buffers);
}

void run(Communicator& communicator, const AllreduceArguments& arguments) {
  Operation operation(communicator, "Allreduce");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<AllreduceArguments> allreduce_cooperative;
const selection::Algorithm<AllreduceArguments> allreduce_cooperative{
    "cooperative",
    {"2", "n read, or n/2 read and n/2 stored", "direct or share; finding out is ours"},
    {"two ranks", [](const selection::Shape& shape) { return shape.ranks == 2; }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 3.75,
                             .rounds = 2,
                             // As by direct or by share, whichever is faster, and the looks at the other way.
                             .remote_bytes = 0.97 * bytes,
                             .either_bytes = 0.47 * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = bytes,
                             .exposures = 2,
                             .startups = 2 * (2 + bytes / usual_block_bytes),
                             .concurrency = 1};
    },
    run};

}  // namespace tutti
