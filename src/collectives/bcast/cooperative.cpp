// Bcast, flat, single copy, the root copies too.
//
// Phase 1: every rank exposes its buffer. Phase 2: each reader copies the root's buffer from the front; meanwhile the
// root stores the back part, at most n/p bytes, into the buffer of each reader that it can store to, until they meet.
// Of two ranks the reader finds out whether that pays, and reads everything or has the root store everything if not
// (MeetOrRead); of more, where ranks share cores, the rank before the root finds that out (Wish). Phase 3: all wait until
// the root and the readers have finished.
// Cost: two flag hops; n (p-1)/p to n (2p-1)/2p bytes copied by the readers, or n, as by a pull alone.
// Requires: at most TUTTI_FLAT_MAX ranks. Whether the root stores into a reader's buffer follows from that reader's
// post, which both know. The single-copy pull is XHC's (section IV.A) without hierarchy.

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/buffers/exposure.h"
#include "collectives/common/meet_or_read.h"
#include "collectives/common/meeting.h"
#include "collectives/common/wish.h"

namespace tutti {

namespace {

/// The root gets no more than an equal share: storing to another core's memory takes as long as reading from it where
/// both share a cache, and twice as long where they do not.
constexpr Meeting::Shares shares{.front = 8, .back = 12};

/// What a reader says in its post: it copies everything itself, and the root must not store; the root stores its part
/// through the caches; or all, of two ranks.
constexpr std::uint64_t copies_all = 1;
constexpr std::uint64_t through_caches = 2;
constexpr std::uint64_t copies_nothing = 4;
/// What the root says in its post: its buffer can be read as it is, and a RootsWay.
constexpr std::uint64_t all_is_ready = 1;
constexpr int way_shift = 1;

Meeting meeting_of(const BcastArguments& arguments, int ranks, RootsWay way) {
  if (way == RootsWay::read) return Meeting(arguments.bytes);
  return way == RootsWay::store ? Meeting::all_helped(arguments.bytes) : Meeting(arguments.bytes, ranks, shares);
}

void copy_in(Operation& operation, const BcastArguments& arguments, const Exposure& mine) {
  for (std::size_t at = 0; at < arguments.bytes; at += 8 * grain_bytes) {
    const std::size_t end = std::min(at + 8 * grain_bytes, arguments.bytes);
    copy_to_lend(operation.communicator(), mine.local + at, arguments.buffer + at, end - at);
    operation.publish(operation.own().ready.flag[0], grains_complete(end, arguments.bytes));
  }
}

Task root(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Exposure mine = expose(operation, arguments.buffer, arguments.bytes, Side::source);
  const RootsWay way =
      mine.copied ? RootsWay::meet : wished(communicator, Learned::bcast, arguments.root, arguments.bytes);
  post(operation, mine, {}, mine.copied ? 0 : all_is_ready | static_cast<std::uint64_t>(way) << way_shift);
  if (mine.copied) copy_in(operation, arguments, mine);

  Meeting meeting = meeting_of(arguments, communicator.size(), way);
  for (int i = 1; way != RootsWay::read && i < communicator.size(); ++i) {
    const int reader = (arguments.root + i) % communicator.size();
    const sync::Flag& posted = operation.slot(reader).post.flag;
    co_await operation.has(posted, 0, reader);
    const memory::Region region = posted_destination(operation, reader);
    const std::uint64_t said = posted.get();
    if (!region.loads_and_stores() || (said & copies_all) != 0) continue;
    if ((said & copies_nothing) != 0) meeting = Meeting::all_helped(arguments.bytes);
    const memory::Store store = (said & through_caches) != 0 ? memory::Store::cached : arguments.store;
    meeting.help(operation, reader, i, [&](std::size_t begin, std::size_t end) {
      communicator.peer(reader).copy_to(region, begin, arguments.buffer + begin, end - begin, store);
    });
  }
  if (way != RootsWay::read) communicator.seen_all(operation.sequence());
  if (mine.in_the_ring) co_return;
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = (arguments.root + i) % communicator.size();
    co_await operation.has(operation.slot(reader).done.flag[0], meeting.awaited(operation, i), reader);
  }
  if (way == RootsWay::read) communicator.seen_all(operation.sequence());
}

Task reader(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  const int distance = (communicator.rank() - root + communicator.size()) % communicator.size();
  const memory::Region reachable = communicator.node().reachable(arguments.buffer, arguments.bytes);
  // The root stores only where it can do so directly; anything else is read by its owner.
  const bool root_can_store = reachable.loads_and_stores();
  const Wish wish(communicator, Learned::bcast, root, arguments.bytes, root_can_store);
  // The root cannot tell how long it takes: the reader finishes after it where they meet, and before it where not.
  MeetOrRead choice(communicator, Learned::bcast, arguments.bytes, arguments.store, true);
  const bool helped = root_can_store && choice.meet();
  post(operation, {}, root_can_store ? Exposure{reachable, arguments.buffer, false, false} : Exposure{},
       !helped                   ? copies_all
       : choice.through_caches() ? through_caches
       : choice.apart()          ? copies_nothing
                                 : 0);

  const sync::Flag& posted = operation.slot(root).post.flag;
  co_await operation.has(posted, 0, root);
  if (root_can_store) choice.begins();
  const RootsWay way = !helped          ? RootsWay::read
                       : choice.apart() ? RootsWay::store
                                        : static_cast<RootsWay>((posted.get() & sync::progress_max) >> way_shift);
  const Meeting meeting = meeting_of(arguments, communicator.size(), way);
  const memory::Region source = posted_source(operation, root);
  // What need not be copied is ready with the post: one line to look at, not two.
  const bool copied_in = (posted.get() & all_is_ready) == 0;
  const sync::Flag& ready = operation.slot(root).ready.flag[0];
  const auto copy = [&communicator, &arguments, source](std::size_t begin, std::size_t end) {
    communicator.peer(arguments.root).copy_from(source, begin, arguments.buffer + begin, end - begin, arguments.store);
  };
  const std::size_t piece = copied_in ? 8 * grain_bytes : std::max<std::size_t>(1, meeting.front());
  for (std::size_t at = 0; at < meeting.front(); at += piece) {
    const std::size_t end = std::min(at + piece, meeting.front());
    if (copied_in) co_await operation.has(ready, grains_needed(end), root);
    copy(at, end);
  }
  if (copied_in) co_await operation.has(ready, grains_needed(arguments.bytes), root);
  co_await Meeting::meet(operation, meeting, root, distance, copy);
  choice.ends();
  wish.ends(way);
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
    "cooperative",
    {"2", "n, of which the root stores n/2p to n/p, none, or all", "XHC III.C; the root's part is ours"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1);
      // Where they meet if both are fast alike. Of two ranks the reader reads all, or they meet; this is
      // less than that takes where stores are faster: who only stores is much slower where caches are shared.
      const bool large = shape.bytes >= selection::streamed_to_peers_min;
      const double part = shape.ranks == 2 ? 1.0 : 1.0 - 0.75 / shape.ranks;
      // Only where buffers are mapped the root stores its part. Where it stages, copying out overlaps with copying in.
      const bool mapped = shape.reach == selection::Reach::mapped;
      const double either = mapped && shape.ranks == 2 && large ? 0.9 * bytes : 0.0;
      // Less than they take who all read: where ranks share cores they find out whether that is best.
      if (mapped && large && shape.ranks > 2 && shape.oversubscribed())
        return selection::Cost{.hops = 2.2 + 0.2 * shape.ranks,
                               .rounds = 2,
                               .remote_bytes = std::min(part, 0.95) * bytes,
                               .exposures = 2,
                               .startups = 1,
                               .concurrency = others,
                               .workers = others,
                               .common = true};
      const double read = either > 0                                ? either
                          : mapped                                  ? part * bytes
                          : shape.reach == selection::Reach::kernel ? bytes
                                                                    : std::min(bytes, 8.0 * grain_bytes);
      // Of a copy the readers read all, while the root makes it; each waits for the first piece of the other.
      if (shape.reach == selection::Reach::staged && !shape.oversubscribed())
        return selection::Cost{.hops = 2.2 + 0.2 * shape.ranks,
                               .rounds = 2,
                               .remote_bytes = bytes,
                               .slot_bytes = read,
                               .exposures = 2,
                               .concurrency = others,
                               .workers = others,
                               .common = true,
                               .beside = {.remote_bytes = read, .slot_bytes = bytes, .exposures = 2}};
      const double stored = mapped ? others * (1 - part) * bytes : 0.0;
      return selection::Cost{.hops = 2.2 + 0.2 * shape.ranks,
                             // The root waits for the readers' posts, they for it, and it for their end.
                             .rounds = stored > 0 ? 4.0 : 2.0,
                             .remote_bytes = read,
                             .either_bytes = either,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .drawn_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .exposures = 2,
                             .startups = 1,
                             .concurrency = shape.ranks - 1.0,
                             .workers = shape.ranks - 1.0,
                             .common = true,
                             .beside = {.remote_bytes = stored, .written_bytes = stored}};
    },
    run};

}  // namespace tutti
