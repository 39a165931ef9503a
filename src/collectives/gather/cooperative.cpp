// Gather, flat, single copy, the root copies too.
//
// Phase 1: the root exposes where the blocks belong and says what it copies itself; every sender exposes its buffer.
// Phase 2: each sender writes its block into the root's buffer from the front; the root copies its own block, then
// reads the back part of each block whose buffer it can load from, until it meets the sender. Of two ranks the root
// finds out whether that pays, and if not reads everything, without a word before it has (MeetOrRead); where the sender
// could store past the root's caches it stores everything instead of meeting, past them or through them. Phase 3: all
// wait until the root and the senders have finished.
// Of two ranks a root whose own buffer peers do not reach reads everything, too: what was written would have to be
// copied out. The sender lends a copy for that, if it has to, and stops making it when it hears that the root does not
// read.
// Of Gatherv small blocks travel packed to the root, and it reads alone, as by sequential-read, those of medium size and
// those that it cannot load from: the sender decides that and says so in its post.
// Cost: two flag hops; n (1 - 1/4p) to n (1 - 5/4p) bytes copied by every sender, in place n (1 - 1/p) to n (1 - 3/2p),
// or none, where writes alone copy n; of two ranks n by one of them, unless in place.
// Requires: equal blocks or two ranks, at most TUTTI_FLAT_MAX. The writes are those of CMA-aware, section IV.B.1; the
// root's part is ours.

#include "collectives/collectives.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/common/buffers/packed_blocks.h"
#include "collectives/common/meet_or_read.h"
#include "collectives/common/meeting.h"
#include "collectives/common/trees/rooted.h"

namespace tutti {

namespace {

/// What the root does to the blocks, which it tells the senders in its post.
enum class Help : std::uint64_t { none, after_own_block, at_once };

/// And this, beside the help: that the sender is to store through the caches.
constexpr std::uint64_t through_caches = 4;

/// Of a sender's done flags: it knows that the root has read everything.
constexpr int answer = 1;

/// What a sender of Gatherv says in its post, if its block is not packed: that it writes its part, or none of it.
constexpr std::uint64_t writes = 0;
constexpr std::uint64_t to_be_read =
    PackedBlocks::Form{PackedBlocks::Place::none, PackedBlocks::Sizes::even}.progress();

/// Blocks of Gatherv below this the root reads alone: to find each other takes longer than to copy half.
constexpr std::size_t shared_min = std::size_t{16} * 1024;

/// How a block is shared between its sender and the root. Reading from another core's memory is up to twice as fast as
/// storing to it (where they share no cache); and the root may have to copy its own block before.
Meeting meeting_of(std::size_t bytes, int ranks, Help help) {
  if (help == Help::none) return Meeting(bytes);
  return help == Help::at_once ? Meeting(bytes, ranks, {.front = 4, .back = 8})
                               : Meeting(bytes, ranks, {.front = 6, .back = 14});
}

/// One sender that stores past the root's caches has finished before the root has copied its own block.
bool stored_alone(const GatherArguments& arguments, std::size_t ranks) {
  return ranks == 2 && arguments.store == memory::Store::streaming_to_peers;
}

/// Whether the root may read of it what the sender leaves. What is lent while it is made is for a root that reads
/// everything: else its owner had rather write it.
bool is_shared(memory::Region source) {
  return source.loads_and_stores() && source.kind() != memory::Kind::filling;
}

std::uint64_t said_by(Communicator& communicator, std::uint64_t sequence, int rank) {
  return communicator.slot(rank, sequence).post.flag.get() & sync::progress_max;
}

/// Takes the block of a sender that writes nothing, whose post was seen. False if it writes.
bool taken_alone(Communicator& communicator, std::uint64_t sequence, const GatherArguments& arguments, int sender) {
  if (said_by(communicator, sequence, sender) == writes) return false;
  const auto index = static_cast<std::size_t>(sender);
  std::byte* const block = arguments.receive.at(index);
  const std::size_t room = arguments.receive.size(index);
  if (PackedBlocks(communicator).open(sequence, sender, 0, block, room)) return true;
  const RemoteBlock source = posted_block(communicator, sequence, sender, 0, Side::source);
  if (const std::size_t bytes = fitting(communicator, source.bytes, room))
    communicator.peer(sender).copy_from(source.region, source.offset, block, bytes, arguments.store);
  communicator.slot(arguments.root, sequence).done.flag[0].set(sync::stamp(sequence));
  communicator.published();
  return true;
}

/// The root of a Gatherv with room for a small block. No coroutine: it waits for nothing but the sender's post.
void take_small(Communicator& communicator, const GatherArguments& arguments) {
  const std::uint64_t sequence = communicator.begin(ring_slots);
  const int sender = rank_at(arguments.root, 1, communicator.size());
  const auto index = static_cast<std::size_t>(sender);
  std::byte* const block = arguments.receive.at(index);
  const std::size_t room = arguments.receive.size(index);
  const bool expects = room > 0;
  keep_own_block(communicator, arguments);
  if (expects) wait_for_post(communicator, sequence, sender, "Gather");
  if (expects && taken_alone(communicator, sequence, arguments, sender)) {
    communicator.seen_all(sequence);
  } else {
    // Nothing else is to come. Who has sent more, by mistake, waits for one of these.
    if (expects) {
      const RemoteBlock source = posted_block(communicator, sequence, sender, 0, Side::source);
      const std::size_t bytes = fitting(communicator, source.bytes, room);
      communicator.peer(sender).copy_from(source.region, source.offset, block, bytes, arguments.store);
    }
    Slot& mine = communicator.slot(arguments.root, sequence);
    mine.post.regions.destination = mine.post.regions.bytes = 0;
    mine.post.flag.set(sync::stamp(sequence));
    mine.done.flag[0].set(sync::stamp(sequence));
    communicator.published();
  }
  communicator.complete(sequence);
}

Task root(Operation& operation, const GatherArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const Blocks& blocks = arguments.receive;
  // Two ranks have but one such block, or all are equal.
  const int next = rank_at(arguments.root, 1, communicator.size());
  const std::size_t room = blocks.size(static_cast<std::size_t>(next));
  // Blocks that are written into a copy are written whole. Of one sender the root had rather read than copy out.
  const bool in_place = written_in_place(communicator, blocks, ranks, arguments.root);
  bool helps = in_place && communicator.reach(blocks.base, room) != memory::Kind::cma;
  MeetOrRead choice(communicator, Learned::gather, room, arguments.store);
  const bool reads_alone = !in_place && ranks == 2 && arguments.regular;
  const bool alone = reads_alone || (helps && !choice.meet());
  if (alone) {
    keep_own_block(communicator, arguments);
    co_await operation.has(operation.slot(next).post.flag, 0, next);
    if (arguments.regular || said_by(communicator, operation.sequence(), next) == writes) {
      const memory::Region region = posted_source(operation, next);
      if (reads_alone ? region.kind() != memory::Kind::none : is_shared(region)) {
        if (helps) choice.begins();
        const std::size_t bytes = fitting(communicator, operation.slot(next).post.regions.bytes, room);
        communicator.peer(next).copy_from(region, 0, blocks.at(static_cast<std::size_t>(next)), bytes, arguments.store);
        operation.publish(operation.own().done.flag[0]);
        communicator.seen_all(operation.sequence());
        if (helps && choice.wants_answer()) co_await operation.has(operation.slot(next).done.flag[answer], 0, next);
        choice.ends();
        co_return;
      }
      // Only the sender can copy, and is told so now.
      helps = false;
    }
  }
  const Help help = !helps || alone                  ? Help::none
                    : !arguments.send                ? Help::at_once
                    : stored_alone(arguments, ranks) ? Help::none
                                                     : Help::after_own_block;
  const Meeting meeting = meeting_of(room, communicator.size(), help);
  const std::uint64_t said = static_cast<std::uint64_t>(help) | (helps && choice.through_caches() ? through_caches : 0);
  const ExposedBlocks mine = post_blocks(operation, blocks, ranks, Side::destination, false, arguments.root, said);
  if (!alone) keep_own_block(communicator, arguments);
  for (int i = 1; i < communicator.size(); ++i) {
    const int sender = rank_at(arguments.root, i, communicator.size());
    co_await operation.has(operation.slot(sender).post.flag, 0, sender);
    if (!arguments.regular && taken_alone(communicator, operation.sequence(), arguments, sender)) {
      communicator.seen_all(operation.sequence());
      co_return;
    }
    const memory::Region region = posted_source(operation, sender);
    const std::size_t bytes = fitting(communicator, operation.slot(sender).post.regions.bytes, room);
    if (!helps || !is_shared(region)) continue;
    choice.begins();
    if (help == Help::none) continue;
    std::byte* const block = blocks.at(static_cast<std::size_t>(sender));
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
  collect_blocks(mine, blocks, ranks, arguments.root);
}

/// The root reads, or, from the ring, has it already.
Task sender_that_waits(Operation& operation, const GatherArguments& arguments) {
  const Blocks block = Blocks::regular(arguments.send, arguments.bytes);
  const ExposedBlocks mine = post_blocks(operation, block, 1, Side::source, false, -1, to_be_read);
  if (mine.exposure.in_the_ring) co_return;
  co_await operation.has(operation.slot(arguments.root).done.flag[0], 0, arguments.root);
}

/// How the root reaches the block. reachable: without a copy, as far as that goes. A copy is lent to one that may be
/// about to read everything.
Exposure lend_block(Operation& operation, const GatherArguments& arguments, memory::Region reachable) {
  auto* const send = const_cast<std::byte*>(arguments.send);
  Exposure source{reachable, send, false, false};
  if (operation.communicator().size() > 2) return reachable.loads_and_stores() ? source : Exposure{};
  if (!reachable.loads_and_stores()) source = expose(operation, send, arguments.bytes, Side::source);
  let_fill(source);
  if (source.in_the_ring) fill(operation.communicator(), source, 0, send, arguments.bytes);
  return source;
}

/// reachable: how peers reach its block. Of Gatherv only one that the root could read too comes here.
Task sender(Operation& operation, const GatherArguments& arguments, memory::Region reachable) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  auto* source = const_cast<std::byte*>(arguments.send);
  const Exposure lent = lend_block(operation, arguments, reachable);
  const bool root_reads = is_shared(lent.region);
  operation.own().post.regions.bytes = arguments.bytes;
  post(operation, lent, {}, writes);

  const Slot& roots = operation.slot(root);
  const sync::Flag& posted = roots.post.flag;
  // A root that posts does not read it.
  if (lent.region.kind() == memory::Kind::filling)
    for (std::size_t at = 0; at < arguments.bytes && !posted.has(operation.stamp()); at += memory::filled_at_once)
      fill(communicator, lent, at, source + at, std::min(memory::filled_at_once, arguments.bytes - at));
  co_await operation.has_either(posted, communicator.size() == 2 ? roots.done.flag[0] : posted, root);
  if (!posted.has(operation.stamp())) {  // the root has read everything
    operation.publish(operation.own().done.flag[answer]);
    co_return;
  }
  const std::uint64_t said = said_by(communicator, operation.sequence(), root);
  const auto help = static_cast<Help>(said & ~through_caches);
  const bool cached = root_reads && (said & through_caches) != 0;
  const memory::Store store = cached ? memory::Store::cached : arguments.store;
  const RemoteBlock block =
      posted_block(operation, root, static_cast<std::size_t>(communicator.rank()), Side::destination);
  if (block.bytes == 0) co_return;
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
  const bool is_root = communicator.rank() == arguments.root;
  if (is_root && !arguments.regular) {
    const int sender = rank_at(arguments.root, 1, communicator.size());
    if (arguments.receive.size(static_cast<std::size_t>(sender)) < shared_min)
      return take_small(communicator, arguments);
  }
  if (!is_root && !arguments.regular && PackedBlocks(communicator).send_alone(arguments.send, arguments.bytes)) return;
  Operation operation(communicator, "Gather");
  if (is_root) return operation.run(root(operation, arguments));
  memory::Region reachable;
  if (arguments.regular || arguments.bytes >= shared_min)
    reachable = communicator.reachable(arguments.send, arguments.bytes);
  if (arguments.regular || reachable.loads_and_stores())
    operation.run(sender(operation, arguments, reachable));
  else
    operation.run(sender_that_waits(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<GatherArguments> gather_cooperative;
const selection::Algorithm<GatherArguments> gather_cooperative{
    "cooperative",
    {"2", "n, of which the root reads n/4p to 5n/4p (in place n/p to 3n/2p), none, or all",
     "CMA-aware IV.B.1; the root's part is ours"},
    {"equal blocks or two ranks, at most TUTTI_FLAT_MAX",
     [](const selection::Shape& shape) { return (shape.regular || shape.ranks == 2) && shape.few_ranks(); }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const selection::Reach reach = shape.reach_of_blocks(static_cast<std::size_t>(shape.ranks));
      // The root loads only where buffers are mapped. Of two ranks one copies all, whichever it is.
      const bool shares = shape.reach == selection::Reach::mapped && shape.ranks > 2;
      const double part = shares ? 1.0 - 0.75 / shape.ranks : 1.0;
      const double loaded = bytes * (shape.ranks - 1) * (1 - part);
      const double stored = shape.ranks == 2 ? 0.0 : bytes * part;
      // Of two ranks one copies a long block, by the fastest of three ways: what writes past the caches take, or less.
      const bool alone = shape.ranks == 2 && shape.bytes >= selection::streamed_to_peers_min &&
                         shape.reach == selection::Reach::mapped;
      const double either = alone ? 0.9 * bytes : bytes * part - stored;
      // Then the root of a Gatherv reads alone.
      const bool one_after_the_other = !shape.regular && shape.reach != selection::Reach::mapped;
      return selection::Cost{.hops = alone ? 2.4 : 3.0 + 0.4 * shape.ranks,
                             // The root waits for the senders' posts, they for it, and it for their end.
                             .rounds = loaded > 0 || one_after_the_other ? 4.0 : 2.0,
                             .copied_bytes = one_after_the_other ? bytes : 0.0,
                             .remote_bytes = stored + either,
                             .written_bytes = stored,
                             .either_bytes = either,
                             .slot_bytes = reach == selection::Reach::staged ? bytes * (shape.ranks - 1) : 0.0,
                             .exposures = 2,
                             .startups = reach == selection::Reach::kernel ? 1.0 : 0.0,
                             .by_kernel = reach == selection::Reach::kernel,
                             .concurrency = static_cast<double>(shape.ranks - 1),
                             .workers = static_cast<double>(shape.ranks - 1),
                             .held_bytes = bytes * (shape.ranks + 1),
                             .beside = {.copied_bytes = bytes, .remote_bytes = loaded}};
    },
    run};

}  // namespace tutti
