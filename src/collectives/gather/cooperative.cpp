// Gather, flat, single copy, the root copies too.
//
// Phase 1: the root exposes where the blocks belong and says what it copies itself; every sender exposes its buffer.
// Phase 2: each sender writes its block into the root's buffer from the front; the root copies its own block, then
// reads the back part of each block whose buffer it can load from, until it meets the sender. Of two ranks the root
// finds out whether that pays, and reads everything if not (MeetOrRead); where the sender could store past the root's
// caches it stores everything instead of meeting, past them or through them. Phase 3: all wait until the root and the
// senders have finished.
// Cost: two flag hops; n (1 - 1/4p) to n (1 - 5/4p) bytes copied by every sender, in place n (1 - 1/p) to n (1 - 3/2p),
// or none, where writes alone copy n; of two ranks n by one of them, unless in place.
// Requires: equal blocks, at most TUTTI_FLAT_MAX ranks. The writes are those of CMA-aware, section IV.B.1; the root's
// part is ours.

#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/meet_or_read.h"
#include "collectives/common/meeting.h"
#include "collectives/common/rooted.h"

namespace tutti {

namespace {

/// What the root does to the blocks, which it tells the senders in its post.
enum class Help : std::uint64_t { none, after_own_block, at_once, with_all };

/// And this, beside the help: that the sender is to store through the caches.
constexpr std::uint64_t through_caches = 4;

/// How a block is shared between its sender and the root. Reading from another core's memory is up to twice as fast as
/// storing to it (where they share no cache); and the root may have to copy its own block before.
Meeting meeting_of(std::size_t bytes, int ranks, Help help) {
  if (help == Help::none) return Meeting(bytes);
  if (help == Help::with_all) return Meeting(bytes, ranks, {.front = 0, .back = 0});
  return help == Help::at_once ? Meeting(bytes, ranks, {.front = 4, .back = 8})
                               : Meeting(bytes, ranks, {.front = 6, .back = 14});
}

/// One sender that stores past the root's caches has finished before the root has copied its own block.
bool stored_alone(const GatherArguments& arguments, std::size_t ranks) {
  return ranks == 2 && arguments.store == memory::Store::streaming_to_peers;
}

Task root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  // Blocks that are written into a copy are written whole.
  const bool helps = communicator.node().reach(arguments.receive.base) != memory::Kind::cma &&
                     written_in_place(communicator, arguments.receive, ranks, arguments.root);
  MeetOrRead choice(communicator, Learned::gather, arguments.receive.size(0), arguments.store);
  const Help help = !helps                           ? Help::none
                    : !choice.meet()                 ? Help::with_all
                    : !arguments.send                ? Help::at_once
                    : stored_alone(arguments, ranks) ? Help::none
                                                     : Help::after_own_block;
  const Meeting meeting = meeting_of(arguments.receive.size(0), communicator.size(), help);
  const std::uint64_t said = static_cast<std::uint64_t>(help) | (helps && choice.through_caches() ? through_caches : 0);
  const ExposedBlocks mine =
      post_blocks(operation, arguments.receive, ranks, Side::destination, false, arguments.root, said);
  keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(sender).post.flag, 0, sender);
    const memory::Region region = posted_source(operation, sender);
    const std::size_t bytes = fitting(communicator, operation.slot(sender).post.regions.bytes, arguments.bytes);
    if (!helps || !region.loads_and_stores()) continue;
    choice.begins();
    if (help == Help::none) continue;
    std::byte* const block = arguments.receive.at(static_cast<std::size_t>(sender));
    meeting.help(operation, sender, i, [&](std::size_t begin, std::size_t end) {
      if (begin < bytes)
        communicator.peer(sender).copy_from(region, begin, block + begin, std::min(end, bytes) - begin,
                                            arguments.store);
    });
  }
  communicator.seen_all(operation.sequence());
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(sender).done.flag[0], meeting.awaited(operation, i), sender);
  }
  choice.ends();
  collect_blocks(mine, arguments.receive, ranks, arguments.root);
}

Task sender(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  auto* source = const_cast<std::byte*>(arguments.send);
  const memory::Region reachable = communicator.node().reachable(source, arguments.bytes);
  const bool root_reads = reachable.loads_and_stores();
  operation.own().post.regions.bytes = arguments.bytes;
  post(operation, root_reads ? Exposure{reachable, source, false, false} : Exposure{}, {});

  const sync::Flag& posted = operation.slot(root).post.flag;
  co_await operation.has(posted, 0, root);
  const std::uint64_t said = posted.get() & sync::progress_max;
  const auto help = static_cast<Help>(said & ~through_caches);
  const bool cached = root_reads && (said & through_caches) != 0;
  const memory::Store store = cached ? memory::Store::cached : arguments.store;
  const RemoteBlock block =
      posted_block(operation, root, static_cast<std::size_t>(communicator.rank()), Side::destination);
  const std::size_t bytes = std::min(arguments.bytes, block.bytes);
  const auto copy = [&communicator, &arguments, source, block, bytes, store](std::size_t begin, std::size_t end) {
    if (begin < bytes)
      communicator.peer(arguments.root)
          .copy_to(block.region, block.offset + begin, source + begin, std::min(end, bytes) - begin, store);
  };
  // Both take the shares of the bytes that the root has announced.
  const Meeting meeting = meeting_of(block.bytes, communicator.size(), root_reads ? help : Help::none);
  copy(0, meeting.front());
  co_await Meeting::meet(operation, meeting, root, distance_of(communicator.rank(), root, communicator.size()), copy);
}

void run(Communicator& communicator, const GatherArguments& arguments) {
  Operation operation(communicator, "Gather");
  operation.run(communicator.rank() == arguments.root ? root(operation, arguments) : sender(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_cooperative;
const selection::Algorithm<GatherArguments> gather_cooperative{
    "cooperative", "equal blocks, at most TUTTI_FLAT_MAX ranks",
    [](const selection::Shape& shape) {
      return shape.regular && static_cast<std::size_t>(shape.ranks) <= shape.flat_max;
    },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of(shape.bytes * static_cast<std::size_t>(shape.ranks));
      // The root loads only where buffers are mapped. Of two ranks one copies all, whichever it is.
      const bool shares = shape.reach == selection::Reach::mapped && shape.ranks > 2;
      const double part = shares ? 1.0 - 0.75 / shape.ranks : 1.0;
      const double loaded = bytes * (shape.ranks - 1) * (1 - part);
      const double stored = shape.ranks == 2 ? 0.0 : bytes * part;
      // Of two ranks one copies a long block, by the fastest of three ways: what writes past the caches take, or less.
      const bool alone = shape.ranks == 2 && shape.bytes >= selection::streamed_to_peers_min &&
                         shape.reach == selection::Reach::mapped;
      const double either = alone ? 0.9 * bytes : bytes * part - stored;
      return selection::Cost{.hops = alone ? 2.4 : 3.0 + 0.4 * shape.ranks,
                             // The root waits for the senders' posts, they for it, and it for their end.
                             .rounds = loaded > 0 ? 4.0 : 2.0,
                             .remote_bytes = stored + either,
                             .written_bytes = stored,
                             .either_bytes = either,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 2,
                             .startups = 1,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes, .remote_bytes = loaded}};
    },
    run};

}  // namespace tutti
