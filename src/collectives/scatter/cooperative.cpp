// Scatter, flat, single copy, the root copies too.
//
// Phase 1: the root exposes its blocks and says whether it has a block of its own; every reader exposes its buffer.
// Phase 2: each reader copies its block from the front; the root copies its own block, then stores the back part of
// each reader's block into the buffers that it can store to, until it meets the reader. Of two ranks the root finds out
// whether that pays, and leaves everything to the reader if not (MeetOrRead); a short block that goes past the reader's
// caches it stores alone instead of meeting. Of more that share cores the rank before the root finds out whether they
// meet, the readers read everything or the root stores everything (Wish). Phase 3: all wait until the root and the
// readers have finished.
// Cost: two flag hops; n (1 - 1/2p) to n bytes copied by every reader, in place n (1 - 1/p) to n (1 - 1/2p), or n,
// as by reads alone.
// Requires: equal blocks, at most TUTTI_FLAT_MAX ranks. The reads are those of CMA-aware, section IV.A.1; the root's
// part is ours.

#include "collectives/collectives.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/meet_or_read.h"
#include "collectives/common/meeting.h"
#include "collectives/common/trees/rooted.h"
#include "collectives/common/wish.h"

namespace tutti {

namespace {

/// What the root does besides copying its own block, which it tells the readers in its post.
enum class Help : std::uint64_t { none, after_own_block, at_once, with_all };

/// How a block is shared between its reader and the root. Storing to another core's memory takes up to twice as long as
/// reading from it (where they share no cache); and the root may have to copy its own block before.
Meeting meeting_of(std::size_t bytes, int ranks, Help help) {
  if (help == Help::none) return Meeting(bytes);
  if (help == Help::with_all) return Meeting::all_helped(bytes);
  return help == Help::at_once ? Meeting(bytes, ranks, {.front = 8, .back = 12})
                               : Meeting(bytes, ranks, {.front = 12, .back = 16});
}

Help help_of(RootsWay way, bool in_place) {
  if (way == RootsWay::read) return Help::none;
  if (way == RootsWay::store) return Help::with_all;
  return in_place ? Help::at_once : Help::after_own_block;
}

RootsWay way_of(Help help) {
  return help == Help::none ? RootsWay::read : help == Help::with_all ? RootsWay::store : RootsWay::meet;
}

/// A short block that goes past the one reader's caches: to meet would take longer than to store it.
bool stored_alone(const ScatterArguments& arguments, std::size_t ranks) {
  return ranks == 2 && arguments.store == memory::Store::streaming_to_peers && arguments.bytes < 16 * grain_bytes;
}

Task root(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  MeetOrRead choice(communicator, Learned::scatter, arguments.send.size(0));
  const RootsWay way = !choice.meet() ? RootsWay::read
                       : arguments.receive && stored_alone(arguments, ranks)
                           ? RootsWay::store
                           : wished(communicator, Learned::scatter, arguments.root, arguments.send.size(0));
  const Help help = help_of(way, arguments.receive == nullptr);
  const Meeting meeting = meeting_of(arguments.send.size(0), communicator.size(), help);
  post_blocks(operation, arguments.send, ranks, Side::source, false, arguments.root, static_cast<std::uint64_t>(help));
  keep_own_block(communicator, arguments);
  // Of two ranks the call is timed from when both are there.
  const bool waits_for_posts = ranks == 2 || help != Help::none;
  for (int i = 1; waits_for_posts && i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(reader).post.flag, 0, reader);
    const memory::Region region = posted_destination(operation, reader);
    if (!region.loads_and_stores()) continue;
    choice.begins();
    if (help == Help::none) continue;
    const auto bytes = std::min<std::size_t>(arguments.bytes, operation.slot(reader).post.regions.bytes);
    const std::byte* const block = arguments.send.at(static_cast<std::size_t>(reader));
    meeting.help(operation, reader, i, [&](std::size_t begin, std::size_t end) {
      if (begin < bytes)
        communicator.peer(reader).copy_to(region, begin, block + begin, std::min(end, bytes) - begin, arguments.store);
    });
  }
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(reader).done.flag[0], meeting.awaited(operation, i), reader);
  }
  communicator.seen_all(operation.sequence());
  choice.ends();
}

Task reader(Operation& operation, const ScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  const memory::Region reachable = communicator.node().reachable(arguments.receive, arguments.bytes);
  const bool root_stores = reachable.loads_and_stores();
  const Wish wish(communicator, Learned::scatter, root, arguments.bytes, root_stores);
  operation.own().post.regions.bytes = arguments.bytes;
  post(operation, {}, root_stores ? Exposure{reachable, arguments.receive, false, false} : Exposure{});

  const sync::Flag& posted = operation.slot(root).post.flag;
  co_await operation.has(posted, 0, root);
  const auto help = static_cast<Help>(posted.get() & sync::progress_max);
  const RemoteBlock block = posted_block(operation, root, static_cast<std::size_t>(communicator.rank()), Side::source);
  const std::size_t bytes = fitting(communicator, block.bytes, arguments.bytes);
  const auto copy = [&communicator, &arguments, block, bytes](std::size_t begin, std::size_t end) {
    if (begin < bytes)
      communicator.peer(arguments.root)
          .copy_from(block.region, block.offset + begin, arguments.receive + begin, std::min(end, bytes) - begin,
                     arguments.store);
  };
  // Both take the shares of the bytes that the root has announced.
  const Meeting meeting = meeting_of(block.bytes, communicator.size(), root_stores ? help : Help::none);
  copy(0, meeting.front());
  co_await Meeting::meet(operation, meeting, root, distance_of(communicator.rank(), root, communicator.size()), copy);
  wish.ends(way_of(help));
}

void run(Communicator& communicator, const ScatterArguments& arguments) {
  Operation operation(communicator, "Scatter");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : reader(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ScatterArguments> scatter_cooperative;
const selection::Algorithm<ScatterArguments> scatter_cooperative{
    "cooperative",
    {"2", "n, of which the root stores up to n/2p (in place n/2p to n/p), none, or all",
     "CMA-aware IV.A.1; the root's part is ours"},
    {"equal blocks, at most TUTTI_FLAT_MAX ranks",
     [](const selection::Shape& shape) { return shape.regular && shape.few_ranks(); }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
      // The root stores only where buffers are mapped. Of two ranks one copies all, whichever it is, of short blocks;
      // of long ones this is less than what the meeting takes: who only stores is much slower where caches are shared.
      const bool mapped = shape.reach == selection::Reach::mapped;
      // Less than they take who all read: where ranks share cores they find out whether that is best.
      if (mapped && shape.ranks > 2 && shape.oversubscribed() && shape.bytes >= selection::streamed_to_peers_min)
        return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                               .rounds = 2,
                               .remote_bytes = 0.95 * bytes,
                               .exposures = 2,
                               .startups = 1,
                               .concurrency = static_cast<double>(shape.ranks - 1),
                               .workers = static_cast<double>(shape.ranks - 1),
                               .held_bytes = bytes * (shape.ranks + 1),
                               .beside = {.copied_bytes = bytes}};
      const double part = mapped && shape.ranks > 2 ? 1.0 - 0.25 / shape.ranks : 1.0;
      const double stored = bytes * (shape.ranks - 1) * (1 - part);
      const double either = mapped && shape.ranks == 2 ? bytes : 0.0;
      // As a prediction a bit too little, so that very long blocks go this way: measured 4 to 8 % less than by
      // parallel-read, whose root has nothing to do once its own block is copied.
      const double own = either > 0 && shape.bytes > std::size_t{512} * 1024 ? 0.96 * bytes : bytes;
      return selection::Cost{.hops = 3.0 + 0.4 * shape.ranks,
                             // The root waits for the readers' posts, they for it, and it for their end.
                             .rounds = stored > 0 ? 4.0 : 2.0,
                             .remote_bytes = bytes * part,
                             .either_bytes = either,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 2,
                             .startups = reach == selection::Reach::kernel ? 1.0 : 0.0,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = own, .remote_bytes = stored, .written_bytes = stored}};
    },
    run};

}  // namespace tutti
